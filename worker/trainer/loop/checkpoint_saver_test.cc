// One rank, on a volume that waits, and one that fails.
#include "worker/trainer/loop/checkpoint_saver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <future>
#include <sstream>
#include <string>
#include <thread>

#include "checkpoint/folder/owner.h"
#include "checkpoint/folder/store.h"
#include "checkpoint/testing/failing_calls.h"
#include "checkpoint/testing/faulty_volume.h"
#include "common/process.h"
#include "common/testing/temporary_folder.h"
#include "common/testing/turn.h"
#include "worker/trainer/comm/testing/forwarding_communicator.h"
#include "worker/trainer/loop/checkpoint_terms.h"
#include "worker/trainer/loop/testing/tiny_options.h"

namespace caravan::trainer {
namespace {

using checkpoint::testing::FaultyVolume;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Saver : public ::testing::Test {
 protected:
  Saver() {
    auto volume = std::make_unique<FaultyVolume>(*real_);
    volume_ = volume.get();
    EXPECT_TRUE(set_nonblocking(pipe_.read_end.get()));
    saver_.emplace(
        rank_, reporter_,
        Beginning{.state = {}, .model = options_.model, .tokenizer = {}, .volume = std::move(volume)});
  }

  // As the trainer does it.
  void end_step(int step, const std::optional<std::string>& asked = std::nullopt, bool skipped = false) {
    const SaveVerdict verdict = agree_on_save(*rank_.mesh.world, saver_->share(step, asked));
    const Outcome outcome = saver_->after_step(state_after(step), verdict, skipped);
    ASSERT_TRUE(outcome) << outcome.error().message;
  }

  void skip_step(int step, const std::optional<std::string>& asked = std::nullopt) {
    end_step(step, asked, /*skipped=*/true);
  }

  static checkpoint::TrainingState state_after(int step) {
    return {.step = step, .updates = step, .samples = step};
  }

  // Steps without a checkpoint of their own, until the one that is written has come to its end.
  void train_until_told(int first_step) {
    for (int step = first_step; told().empty(); ++step) {
      end_step(step % 10 == 0 ? step + 1 : step);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  // What was reported of checkpoints since the last call.
  std::string told() {
    std::string text(1 << 16, '\0');
    const ssize_t size = read(pipe_.read_end.get(), text.data(), text.size());
    std::istringstream lines(text.substr(0, static_cast<std::size_t>(std::max<ssize_t>(0, size))));
    std::string reports;
    for (std::string line; std::getline(lines, line);)
      if (line.find("\"checkpoint\"") != std::string::npos) reports += line;
    if (!reports.empty()) last_told_ = reports;
    return reports;
  }

  // Until it is reported that training still waits, or a test has waited too long for that.
  void await_interlude_again() {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (interludes_again_ == 0 && std::chrono::steady_clock::now() < patience) {
      std::this_thread::yield();
      count_interludes();
    }
  }

  void count_interludes() {
    std::string text(1 << 16, '\0');
    const ssize_t size = read(pipe_.read_end.get(), text.data(), text.size());
    std::istringstream lines(text.substr(0, static_cast<std::size_t>(std::max<ssize_t>(0, size))));
    for (std::string line; std::getline(lines, line);)
      if (line.find("\"interlude\"") != std::string::npos)
        ++(line.find("\"goesOn\":true") == std::string::npos ? interludes_ : interludes_again_);
  }

  std::vector<int> saved() const { return checkpoint::committed_steps(*real_).value(); }

  const test::TemporaryFolder files_;
  const std::unique_ptr<checkpoint::Volume> real_ = checkpoint::make_volume(files_.path("states")).value();
  const TrainerOptions options_ = tiny_options(files_.path("states"));
  MemoryLedger ledger_;
  ActivityBoard board_;
  Rank rank_{options_, ledger_, board_, /*groups=*/{}};
  Pipe pipe_ = make_pipe().value();
  const Reporter reporter_{pipe_.write_end.get()};
  FaultyVolume* volume_ = nullptr;
  std::optional<CheckpointSaver> saver_;
  std::string last_told_;
  int interludes_ = 0;  // reports that training waits, and that it still does
  int interludes_again_ = 0;
};

TEST_F(Saver, TrainingGoesOnWhileACopyOfTheStepIsWritten) {
  std::promise<void> gate;
  const std::shared_future<void> opened = gate.get_future().share();
  volume_->before = [&] { opened.wait(); };
  rank_.parameters.values.fill_(1);
  end_step(10);
  for (int step = 11; step < 20; ++step) {
    rank_.parameters.values.fill_(step);
    end_step(step);
  }
  EXPECT_EQ(told(), "");
  EXPECT_THAT(saved(), IsEmpty());
  gate.set_value();
  train_until_told(11);
  EXPECT_THAT(last_told_, HasSubstr("\"Written\""));
  EXPECT_THAT(saved(), ElementsAre(10));
  auto from = checkpoint::Checkpoint::open(*real_, 10).value();
  EXPECT_EQ(from.state().samples, 10);
  ASSERT_TRUE(read_state(from, state_of(rank_)));
  const Parameter& first = rank_.parameters.layout.parameters.front();
  EXPECT_TRUE(rank_.parameters.value(first).eq(1).all().item<bool>());
}

TEST_F(Saver, OneThatIsDueWaitsForTheOneBefore) {
  std::promise<void> gate;
  const std::shared_future<void> opened = gate.get_future().share();
  volume_->before = [&] { opened.wait(); };
  end_step(10);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.set_value();
  });
  end_step(20);
  later.join();
  EXPECT_THAT(saved(), ElementsAre(10));
  ASSERT_TRUE(saver_->finish(state_after(20), /*must=*/true));
  EXPECT_THAT(saved(), ElementsAre(20, 10));
}

TEST_F(Saver, OneThatIsDueIsLeftOutWhenTheOneBeforeTakesTooLong) {
  std::promise<void> gate;
  const std::shared_future<void> opened = gate.get_future().share();
  auto volume = std::make_unique<FaultyVolume>(*real_);
  volume->before = [&] { opened.wait(); };
  saver_.emplace(
      rank_, reporter_,
      Beginning{.state = {}, .model = options_.model, .tokenizer = {}, .volume = std::move(volume)},
      /*patience=*/std::chrono::seconds(0));
  end_step(10);
  end_step(20);
  EXPECT_THAT(told(), HasSubstr("the checkpoint of step 10 is still being written"));
  end_step(21);
  EXPECT_EQ(told(), "") << "the next step does not ask for it again";
  gate.set_value();
  ASSERT_TRUE(saver_->finish(state_after(21), /*must=*/false));
  EXPECT_THAT(saved(), ElementsAre(21, 10)) << "the last one waits";
}

TEST_F(Saver, WhoeverAsksDuringTheLastOneIsToldWhatItWaitsFor) {
  std::promise<void> gate;
  const std::shared_future<void> opened = gate.get_future().share();
  volume_->before = [&] { opened.wait(); };
  auto end = std::async(std::launch::async, [&] { return saver_->finish(state_after(50), /*must=*/true); });
  std::optional<Saving> shown;
  while (!shown) {
    std::this_thread::yield();
    shown = board_.shown_saving();
  }
  EXPECT_EQ(shown->doing, "making the files of the checkpoint of step 50");
  gate.set_value();
  ASSERT_TRUE(end.get());
  EXPECT_FALSE(board_.shown_saving());
}

// A world whose ranks may hang in asking each other, and which counts how often they do.
class HangingWorld final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;

  std::atomic<bool> hangs = false;
  std::atomic<bool> is_stuck = false;
  std::atomic<int> gathered = 0;

  void all_reduce(at::Tensor& tensor, Reduction reduction) override {
    wait();
    ForwardingCommunicator::all_reduce(tensor, reduction);
  }
  void all_gather(at::Tensor& output, const at::Tensor& input) override {
    wait();
    ForwardingCommunicator::all_gather(output, input);
    ++gathered;
  }

 private:
  void wait() {
    while (hangs) {
      is_stuck = true;
      std::this_thread::yield();
    }
    is_stuck = false;
  }
};

TEST_F(Saver, WhoHangsWithTheOthersIsNotShownAtAPartThatHasEnded) {
  auto owned = std::make_unique<HangingWorld>(std::move(rank_.mesh.world));
  HangingWorld& world = *owned;
  rank_.mesh.world = std::move(owned);
  std::promise<void> gate;
  const std::shared_future<void> opened = gate.get_future().share();
  volume_->before = [&] { opened.wait(); };
  auto end = std::async(std::launch::async, [&] { return saver_->finish(state_after(50), /*must=*/true); });
  while (!board_.shown_saving()) std::this_thread::yield();
  world.hangs = true;
  while (!world.is_stuck) std::this_thread::yield();
  EXPECT_TRUE(board_.shown_saving());
  gate.set_value();
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (board_.shown_saving() && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
  EXPECT_FALSE(board_.shown_saving());
  world.hangs = false;
  ASSERT_TRUE(end.get());
}

TEST_F(Saver, ALastOneThatTakesLongIsAnnouncedAgainWhileItGetsOn) {
  CARAVAN_BY_TURNS();
  auto owned = std::make_unique<HangingWorld>(std::move(rank_.mesh.world));
  const HangingWorld& world = *owned;
  rank_.mesh.world = std::move(owned);
  std::promise<void> gate;
  const std::shared_future<void> opened = gate.get_future().share();
  std::atomic<int> operations = 0;
  volume_->before = [&] {
    if (++operations > 3) opened.wait();
  };
  auto end = std::async(std::launch::async, [&] { return saver_->finish(state_after(50), /*must=*/true); });
  const auto after_exchanges = [&](int count) {
    for (const int before = world.gathered; world.gathered < before + count;) std::this_thread::yield();
    count_interludes();
    return interludes_again_;
  };
  await_interlude_again();
  EXPECT_GE(interludes_again_, 1) << "the first operations are done";
  const int told = after_exchanges(25);
  EXPECT_EQ(after_exchanges(25), told) << "nothing more is, and nobody says so";
  gate.set_value();
  ASSERT_TRUE(end.get());
  EXPECT_EQ(interludes_, 1);
}

// With a small stallTimeoutSeconds.
TEST_F(Saver, OneThatWaitsForTheOneBeforeIsAnnouncedUntilItIsGivenUp) {
  std::promise<void> gate;
  const std::shared_future<void> opened = gate.get_future().share();
  volume_->before = [&] { opened.wait(); };
  end_step(10);
  auto later = std::async(std::launch::async, [&] { end_step(20); });
  await_interlude_again();
  EXPECT_EQ(interludes_, 2) << "one for each step";
  EXPECT_GE(interludes_again_, 1);
  gate.set_value();
  later.get();
  ASSERT_TRUE(saver_->finish(state_after(20), /*must=*/true));
}

TEST_F(Saver, SomebodyMayAskForOne) {
  end_step(13, /*asked=*/"");
  train_until_told(14);
  EXPECT_THAT(saved(), ElementsAre(13));
}

TEST_F(Saver, OneThatIsDueAfterASkippedStepFollowsTheNextGoodOne) {
  skip_step(10);
  skip_step(11);
  end_step(12);
  train_until_told(13);
  EXPECT_THAT(saved(), ElementsAre(12));
}

TEST_F(Saver, ARequestDuringSkippedStepsIsAnsweredAfterTheNextGoodOne) {
  skip_step(13, /*asked=*/"a");
  skip_step(20);
  end_step(21);
  train_until_told(22);
  EXPECT_THAT(last_told_, HasSubstr(R"("request":"a")"));
  EXPECT_THAT(saved(), ElementsAre(21));
}

TEST_F(Saver, OneThatIsUnderWayIsCompletedDuringSkippedSteps) {
  end_step(10);
  for (int step = 11; told().empty(); ++step) {
    skip_step(step);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_THAT(saved(), ElementsAre(10));
}

TEST_F(Saver, TheLastOnePushesNoneOutWhereItsStepWasSkipped) {
  for (const int step : {10, 20, 30}) ASSERT_TRUE(saver_->finish(state_after(step), /*must=*/true));
  skip_step(40);
  ASSERT_TRUE(saver_->finish(state_after(40), /*must=*/true, /*skipped=*/true));
  EXPECT_THAT(saved(), ElementsAre(40, 30, 20, 10));
  ASSERT_TRUE(saver_->finish(state_after(50), /*must=*/true));
  EXPECT_THAT(saved(), ElementsAre(50, 40, 30)) << "behind a good step they go";
}

TEST_F(Saver, ARequestThatComesAgainIsAnsweredOnceAlsoByWhoeverResumes) {
  end_step(13, /*asked=*/"a");
  train_until_told(14);
  EXPECT_THAT(last_told_, HasSubstr(R"("request":"a")"));
  end_step(16, /*asked=*/"a");
  EXPECT_THAT(told(), HasSubstr(R"("outcome":"Answered","step":13)")) << "or who asks would wait for ever";
  ASSERT_TRUE(saver_->finish(state_after(20), /*must=*/false));
  EXPECT_THAT(told(), Not(HasSubstr("\"request\"")));
  EXPECT_THAT(saved(), ElementsAre(20, 13));

  // The later one knows of it as well.
  const auto newest = checkpoint::Checkpoint::open(*real_, 20).value();
  EXPECT_EQ(newest.answered_request(), "a");
  saver_.emplace(rank_, reporter_,
                 Beginning{.state = newest.state(),
                           .model = options_.model,
                           .tokenizer = {},
                           .volume = checkpoint::open_volume(options_.checkpoint.path).value(),
                           .answered_request = newest.answered_request()});
  end_step(21, /*asked=*/"a");
  EXPECT_THAT(told(), HasSubstr("\"Answered\""));
  end_step(22, /*asked=*/"b");
  train_until_told(23);
  EXPECT_THAT(last_told_, HasSubstr(R"("request":"b")"));
  EXPECT_THAT(saved(), ElementsAre(22, 20, 13));
}

TEST_F(Saver, ARequestWhoseCheckpointFailsIsAnsweredByThat) {
  volume_->fails_at = 0;
  end_step(13, /*asked=*/"a");
  train_until_told(14);
  EXPECT_THAT(last_told_, HasSubstr("\"Failed\""));
  EXPECT_THAT(last_told_, HasSubstr(R"("request":"a")"));
  ASSERT_TRUE(saver_->finish(state_after(20), /*must=*/true));
  EXPECT_EQ(checkpoint::Checkpoint::open(*real_, 20)->answered_request(), "") << "none was made for it";
}

// As when the same file is started twice, or two jobs were given one folder.
TEST_F(Saver, AnotherRunThatTakesTheFolderOverEndsTheSavesOfThisOne) {
  ASSERT_TRUE(saver_->finish(state_after(10), /*must=*/true));
  told();
  const auto other = checkpoint::take_over(*real_, {.attempt = 1, .run = "run-b", .job = "other"});
  ASSERT_TRUE(other);
  const auto before = real_->names("").value();
  end_step(20);
  train_until_told(21);
  EXPECT_THAT(last_told_, HasSubstr("\"Failed\""));
  EXPECT_THAT(last_told_, HasSubstr("attempt 1 of job other (run run-b) has taken this folder over"));
  ASSERT_TRUE(saver_->finish(state_after(25), /*must=*/false));
  EXPECT_EQ(real_->names("").value(), before) << "it makes and removes nothing there";
}

// The first operations of a save, the last ones, with what tidies up behind it, and some of the many writes
// between them.
TEST_F(Saver, AnOperationThatFailsCostsThatCheckpointAlone) {
  CARAVAN_BY_TURNS();
  constexpr std::size_t kEnds = 18;
  constexpr std::size_t kStride = 7;
  int step = 10;
  for (; step <= 40; step += 10) ASSERT_TRUE(saver_->finish(state_after(step), /*must=*/true));
  const std::size_t all = volume_->operations().size() / 4;
  int complete = 0;  // what failed was tidying up
  int incomplete = 0;
  const auto next = [&](std::size_t number) {
    const bool is_at_an_end = number < kEnds || number + kEnds >= all;
    return is_at_an_end ? number + 1 : std::min(number + kStride, all - kEnds);
  };
  for (std::size_t number = 0; number < all + kEnds; number = next(number), step += 10) {
    told();
    const std::size_t before = volume_->operations().size();
    volume_->fails_at = before + number;
    end_step(step);
    train_until_told(step + 1);
    const bool is_complete = std::ranges::count(saved(), step) == 1;
    ASSERT_TRUE(saver_->finish(state_after(step), /*must=*/false));
    volume_->fails_at.reset();
    if (volume_->operations().size() <= before + number) break;
    const std::string failed = volume_->descriptions()[before + number];
    EXPECT_THAT(last_told_, HasSubstr(is_complete ? "\"Written\"" : "\"Failed\"")) << failed;
    if (!is_complete) {
      EXPECT_THAT(last_told_, HasSubstr("No space left on device")) << failed;
    }
    ++(is_complete ? complete : incomplete);
  }
  EXPECT_GT(complete, 2);
  EXPECT_GT(incomplete, 25);
}

// On a full disk and on a broken one, with one system call after another.
TEST_F(Saver, ACallThatFailsCostsThatCheckpointAlone) {
  CARAVAN_BY_TURNS();
  checkpoint::testing::FailingCalls calls;
  saver_.emplace(
      rank_, reporter_,
      Beginning{
          .state = {},
          .model = options_.model,
          .tokenizer = {},
          .volume =
              checkpoint::open_volume(options_.checkpoint.path, checkpoint::Links::Refused, calls).value()});
  ASSERT_TRUE(saver_->finish(state_after(10), /*must=*/true));
  int failed = 0;
  int step = 20;
  for (std::size_t number = 0;; ++number, step += 10) {
    told();
    calls.forget();
    calls.fails_at = number;
    calls.error = number % 2 == 0 ? ENOSPC : EIO;
    const int before = saved().front();
    end_step(step);
    train_until_told(step + 1);
    const std::string outcome = last_told_;
    const bool is_complete = saved().front() == step;
    ASSERT_TRUE(checkpoint::Checkpoint::open(*real_, before)->verify());
    ASSERT_TRUE(saver_->finish(state_after(step + 5), /*must=*/false)) << "training does not go on";
    ASSERT_EQ(saved().front(), step + 5) << "the next one is not made";
    if (is_complete) break;  // what follows tidies up
    ++failed;
    EXPECT_THAT(outcome, HasSubstr("\"Failed\"")) << number;
    EXPECT_THAT(outcome, HasSubstr(std::strerror(calls.error))) << number;
  }
  EXPECT_GT(failed, 100);
}

TEST_F(Saver, TheLastOneIsTriedAgainAndAJobWithoutItFails) {
  volume_->fails_at = 0;
  ASSERT_TRUE(saver_->finish(state_after(50), /*must=*/true));
  EXPECT_THAT(saved(), ElementsAre(50));
  volume_->fails_at = volume_->operations().size();
  volume_->fails_from_then_on = true;
  const Outcome stopped = saver_->finish(state_after(51), /*must=*/false);
  EXPECT_TRUE(stopped) << "told, and no reason for a job that is stopped to fail";
  EXPECT_THAT(saved(), ElementsAre(50));
}

// As "stallSeconds":1.5 in the last report.
double number_in(const std::string& reports, const std::string& field) {
  return std::stod(reports.substr(reports.rfind("\"" + field + "\":") + field.size() + 3));
}

TEST_F(Saver, TrainingWaitsForAllOfTheLastOne) {
  end_step(10);
  train_until_told(11);
  EXPECT_LT(number_in(last_told_, "stallSeconds"), number_in(last_told_, "seconds"));
  ASSERT_TRUE(saver_->finish(state_after(50), /*must=*/true));
  told();
  EXPECT_GE(number_in(last_told_, "stallSeconds"), number_in(last_told_, "seconds"));
}

TEST_F(Saver, NothingIsSavedTwice) {
  end_step(10);
  ASSERT_TRUE(saver_->finish(state_after(10), /*must=*/true));
  const std::size_t operations = volume_->operations().size();
  ASSERT_TRUE(saver_->finish(state_after(10), /*must=*/true));
  EXPECT_EQ(volume_->operations().size(), operations);
}

}  // namespace
}  // namespace caravan::trainer
