// One rank, in a folder that others have too, and two that begin together.
#include "worker/trainer/loop/checkpoint_loader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "checkpoint/folder/store.h"
#include "checkpoint/format/names.h"
#include "checkpoint/testing/faulty_volume.h"
#include "common/process.h"
#include "common/testing/temporary_folder.h"
#include "common/unique_fd.h"
#include "worker/trainer/comm/testing/recorded_groups.h"
#include "worker/trainer/loop/checkpoint_saver.h"
#include "worker/trainer/loop/testing/tiny_options.h"

namespace caravan::trainer {
namespace {

using checkpoint::Owner;
using checkpoint::Volume;
using checkpoint::testing::FaultyVolume;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Loader : public ::testing::Test {
 protected:
  Loader() { options_.job_uid = "run-a"; }

  // By another rank, to which the folder belongs then or before.
  void save(int step, const Owner& owner = {}) {
    MemoryLedger ledger;
    ActivityBoard board;
    Rank rank(options_, ledger, board, /*groups=*/{});
    rank.parameters.values.fill_(step);
    CheckpointSaver saver(rank, reporter_,
                          {.state = {},
                           .model = options_.model,
                           .tokenizer = {},
                           .volume = checkpoint::open_volume(options_.checkpoint.path).value(),
                           .owner = owner});
    const Outcome saved = saver.finish({.step = step, .updates = step, .samples = step}, /*must=*/true);
    ASSERT_TRUE(saved) << saved.error().message;
  }

  // What is said where nothing can be resumed.
  std::string refusal() {
    const Resumed resumed = CheckpointLoader(rank_, reporter_).resume();
    return resumed ? "none" : resumed.error().message;
  }

  static OpenFolder opening_with(checkpoint::SystemCalls& calls) {
    return [&calls](const std::string& path) {
      return checkpoint::open_volume(path, checkpoint::Links::Refused, calls);
    };
  }

  Resumed resume_with(checkpoint::SystemCalls& calls) {
    return CheckpointLoader(rank_, reporter_, opening_with(calls), kBetweenMeetings,
                            std::chrono::milliseconds(0))
        .resume();
  }

  // By two ranks at once, each on its thread. They are on one node where the second is not its first rank.
  std::vector<Resumed> resume_two(checkpoint::SystemCalls& second,
                                  checkpoint::SystemCalls& first = checkpoint::system_calls(),
                                  int local_rank_of_second = 0) {
    RecordedGroups groups;
    std::vector<Resumed> resumed(2);
    std::vector<std::jthread> threads;
    for (int number = 0; number < 2; ++number) {
      threads.emplace_back([&, number] {
        TrainerOptions options = tiny_options(files_.path("states"), {.data = 2}, number);
        options.job_uid = options_.job_uid;
        options.local_rank = number == 0 ? 0 : local_rank_of_second;
        MemoryLedger ledger;
        ActivityBoard board;
        Rank rank(options, ledger, board, groups.factory());
        CheckpointLoader loader(rank, reporter_, opening_with(number == 0 ? first : second), kBetweenMeetings,
                                std::chrono::milliseconds(0));
        resumed[static_cast<std::size_t>(number)] = loader.resume();
      });
    }
    threads.clear();
    return resumed;
  }

  // What is reported meanwhile.
  static std::string told_by(const std::function<void(const Reporter&)>& work) {
    const Pipe pipe = make_pipe().value();
    EXPECT_TRUE(set_nonblocking(pipe.read_end.get()));
    work(Reporter(pipe.write_end.get()));
    std::string told(1 << 16, '\0');
    const ssize_t size = read(pipe.read_end.get(), told.data(), told.size());
    told.resize(static_cast<std::size_t>(std::max<ssize_t>(0, size)));
    return told;
  }

  Owner taken_by(const std::string& run, int attempt) {
    return checkpoint::take_over(*real_, {.attempt = attempt, .run = run, .job = "tiny"}).value().own;
  }

  void damage(int step) const {
    files_.write("states/" + checkpoint::step_folder(step) + "/model.safetensors", "nothing");
  }

  std::vector<std::string> names() const { return real_->names("").value(); }

  const test::TemporaryFolder files_;
  const std::unique_ptr<Volume> real_ = checkpoint::make_volume(files_.path("states")).value();
  TrainerOptions options_ = tiny_options(files_.path("states"));
  MemoryLedger ledger_;
  ActivityBoard board_;
  Rank rank_{options_, ledger_, board_, /*groups=*/{}};
  const UniqueFd nobody_{open("/dev/null", O_WRONLY | O_CLOEXEC)};
  const Reporter reporter_{nobody_.get()};
};

TEST_F(Loader, AJobThatCannotTrainTakesTheFolderFromNobody) {
  const Owner living = taken_by("run-b", 1);
  files_.write("states/step-000010.tmp-1-run-b/rank-0.json", "");
  options_.init_from = files_.path("nowhere");
  EXPECT_THAT(refusal(), HasSubstr("nowhere"));
  EXPECT_THAT(names(), ElementsAre(checkpoint::owner_file(living), "step-000010.tmp-1-run-b"));
}

TEST_F(Loader, AJobThatCannotTrainLeavesNoRecord) {
  options_.init_from = files_.path("nowhere");
  EXPECT_THAT(refusal(), HasSubstr("nowhere"));
  EXPECT_THAT(names(), ElementsAre());
}

TEST_F(Loader, WhatRefusesABeginningRefusesNoneThatGoesOn) {
  const Status wrong = bad_input("is a file of the training data too");
  const Resumed begun = CheckpointLoader(rank_, reporter_).resume(wrong);
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().reason, FailureReason::InvalidInput);
  EXPECT_THAT(begun.error().message, HasSubstr("is a file of the training data too"));
  EXPECT_THAT(names(), ElementsAre());
  save(10);
  const Resumed resumed = CheckpointLoader(rank_, reporter_).resume(wrong);
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->state.step, 10);
}

// The rate would fall and climb once more.
TEST_F(Loader, SaysThatWithMoreStepsTheWarmUpIsLonger) {
  LearningRateSchedule& schedule = options_.optimizer.learning_rate;
  const auto train_for = [&](int steps) {
    options_.steps = schedule.steps = steps;
    schedule.warmup_steps = default_warmup_steps(steps);
  };
  const auto told = [&] {
    ::testing::internal::CaptureStderr();
    EXPECT_TRUE(CheckpointLoader(rank_, reporter_).resume());
    ++options_.rendezvous.attempt;
    return ::testing::internal::GetCapturedStderr();
  };
  train_for(100);
  save(20);
  EXPECT_THAT(told(), Not(HasSubstr("warm-up"))) << "as many as before";
  train_for(150);
  EXPECT_THAT(told(), Not(HasSubstr("warm-up"))) << "it is over with both";
  train_for(1000);
  EXPECT_THAT(told(),
              HasSubstr("has 100 steps with training.steps 1000; with the 100 of the checkpoint it has "
                        "10, unless that job set its own: set what it had"));
  schedule.warmup_is_given = true;
  EXPECT_THAT(told(), Not(HasSubstr("warm-up")));
}

TEST_F(Loader, SaysThatItStillReads) {
  save(10);
  const std::string told = told_by([&](const Reporter& reporter) {
    EXPECT_TRUE(CheckpointLoader(rank_, reporter, checkpoint::make_volume, std::chrono::seconds(0)).resume());
  });
  EXPECT_THAT(told, HasSubstr(R"({"interlude":{"delayedStep":11,"goesOn":false}})"));
  EXPECT_THAT(told, HasSubstr(R"({"interlude":{"delayedStep":11,"goesOn":true}})"));
}

// Of an attempt that still lives, until the record says that it has lost the folder.
TEST_F(Loader, GoesOnFromWhatIsCommittedUntilTheFolderIsItsOwn) {
  const Owner before = taken_by("run-b", 1);
  save(10, before);
  bool is_committed = false;
  const auto open = [&](const std::string&) -> Result<std::unique_ptr<Volume>> {
    auto volume = std::make_unique<FaultyVolume>(*real_);
    volume->before = [&] {
      if (!std::exchange(is_committed, true)) save(20, before);
    };
    return volume;
  };
  const Resumed resumed = CheckpointLoader(rank_, reporter_, open).resume();
  ASSERT_TRUE(resumed) << resumed.error().message;
  ASSERT_TRUE(is_committed);
  EXPECT_EQ(resumed->state.step, 20);
  const Parameter& first = rank_.parameters.layout.parameters.front();
  EXPECT_TRUE(rank_.parameters.value(first).eq(20).all().item<bool>());
  EXPECT_TRUE(checkpoint::check_owner(*real_, resumed->owner));
  EXPECT_FALSE(checkpoint::check_owner(*real_, before));
}

TEST_F(Loader, SetsDamagedOnesAsideInItsOwnFolderOnly) {
  for (const int step : {10, 20}) save(step);
  damage(20);
  taken_by("run-a", 7);
  EXPECT_THAT(refusal(), HasSubstr("attempt 7 of this job was here already"));
  EXPECT_THAT(checkpoint::committed_steps(*real_).value(), ElementsAre(20, 10));

  options_.rendezvous.attempt = 8;
  const Resumed resumed = CheckpointLoader(rank_, reporter_).resume();
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->state.step, 10);
  EXPECT_THAT(names(), ElementsAre("owner-000002.8.run-a.tiny", "step-000010", "step-000020.damaged-8"));
}

// A machine that does not see a folder from one look to another, and opens nothing in it before such a look.
class Lagging final : public checkpoint::SystemCalls {
 public:
  static constexpr int kForGood = 1000;

  explicit Lagging(std::string hidden, int from, int to = kForGood)
      : hidden_(std::move(hidden)), from_(from), to_(to) {}

  int open(int folder, const char* path, const open_how& how) override {
    if (std::string(path).starts_with(hidden_) && hides(looks_ + 1)) {
      errno = ENOENT;
      return -1;
    }
    if (std::string(path) == ".") ++looks_;
    return SystemCalls::open(folder, path, how);
  }
  const dirent* list(DIR* folder) override {
    const dirent* entry = SystemCalls::list(folder);
    while (hides(looks_) && entry != nullptr && entry->d_name == hidden_) entry = SystemCalls::list(folder);
    return entry;
  }

 private:
  bool hides(int look) const { return look >= from_ && look <= to_; }

  const std::string hidden_;
  const int from_;
  const int to_;
  int looks_ = 0;
};

TEST_F(Loader, TakesACheckpointThatThisMachineDoesNotSeeYetForNoDamagedOne) {
  for (const int step : {10, 20}) save(step);
  Lagging calls(checkpoint::step_folder(20), /*from=*/2);
  const Resumed resumed = resume_with(calls);
  ASSERT_FALSE(resumed);
  EXPECT_EQ(resumed.error().reason, FailureReason::DataUnavailable) << "the next attempt may see it";
  EXPECT_THAT(resumed.error().message, HasSubstr("the checkpoint of step 20 cannot be read now"));
  EXPECT_THAT(checkpoint::committed_steps(*real_).value(), ElementsAre(20, 10));
}

// As where its volume is not mounted: all ranks would make again what is there.
TEST_F(Loader, DoesNotGoOnFromLessThanAnotherNodeSees) {
  for (const int step : {10, 20}) save(step);
  Lagging first(checkpoint::step_folder(20), /*from=*/1);
  const std::vector<Resumed> resumed = resume_two(checkpoint::system_calls(), first);
  for (std::size_t rank = 0; rank < resumed.size(); ++rank) {
    ASSERT_FALSE(resumed[rank]);
    EXPECT_EQ(resumed[rank].error().reason,
              rank == 0 ? FailureReason::DataUnavailable : FailureReason::Communication)
        << "the next attempt may see it";
    EXPECT_THAT(resumed[rank].error().message,
                HasSubstr("rank 1 sees the checkpoint of step 20 in " + files_.path("states") +
                          ", and the first rank does not: is the same volume mounted"));
  }
  EXPECT_THAT(names(), ElementsAre("step-000010", "step-000020"));
}

TEST_F(Loader, ACheckpointThatTheFirstRankSeesALittleLaterCostsNoStep) {
  for (const int step : {10, 20}) save(step);
  Lagging first(checkpoint::step_folder(20), /*from=*/1, /*to=*/2);
  for (const Resumed& resumed : resume_two(checkpoint::system_calls(), first)) {
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(resumed->state.step, 20);
  }
}

// A machine whose volume fails to list what is in a folder.
class Unlisted final : public checkpoint::SystemCalls {
 public:
  const dirent* list(DIR* /*folder*/) override {
    errno = EIO;
    return nullptr;
  }
};

// The folder of the first rank may be the empty one on which no volume is mounted.
TEST_F(Loader, BeginsNothingWhereAnotherNodeCannotSayWhatIsThere) {
  Unlisted second;
  const std::vector<Resumed> resumed = resume_two(second);
  for (std::size_t rank = 0; rank < resumed.size(); ++rank) {
    ASSERT_FALSE(resumed[rank]);
    EXPECT_EQ(resumed[rank].error().reason,
              rank == 1 ? FailureReason::DataUnavailable : FailureReason::Communication);
    EXPECT_THAT(resumed[rank].error().message, HasSubstr(rank == 1 ? "cannot list: Input/output error"
                                                                   : "another rank cannot use the folder"));
  }
  EXPECT_THAT(names(), ElementsAre()) << "not even the record of an owner";
}

class Counting final : public checkpoint::SystemCalls {
 public:
  const dirent* list(DIR* folder) override {
    ++lists_;
    return SystemCalls::list(folder);
  }
  int lists() const { return lists_; }

 private:
  int lists_ = 0;
};

TEST_F(Loader, OneRankOfEachNodeListsTheFolder) {
  save(10);
  for (const int local_rank : {0, 1}) {
    Counting second;
    for (const Resumed& resumed : resume_two(second, checkpoint::system_calls(), local_rank)) {
      ASSERT_TRUE(resumed) << resumed.error().message;
      EXPECT_EQ(resumed->state.step, 10);
    }
    EXPECT_EQ(second.lists() > 0, local_rank == 0) << "local rank " << local_rank;
  }
}

TEST_F(Loader, SetsNoneOfALaterVersionAside) {
  save(10);
  files_.write("states/step-000020/manifest.json", "{\"format\":1000}\n");
  const Resumed resumed = resume_with(checkpoint::system_calls());
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->state.step, 10);
  EXPECT_THAT(checkpoint::committed_steps(*real_).value(), ElementsAre(20, 10));
}

// A volume that fails so many times to give the weights of a step.
class Failing final : public checkpoint::SystemCalls {
 public:
  Failing(int step, int times) : weights_(checkpoint::step_folder(step) + "/model"), left_(times) {}

  int open(int folder, const char* path, const open_how& how) override {
    if (left_ == 0 || !std::string(path).starts_with(weights_)) return SystemCalls::open(folder, path, how);
    --left_;
    errno = EIO;
    return -1;
  }
  int left() const { return left_; }

 private:
  const std::string weights_;
  int left_;
};

TEST_F(Loader, GoesOnFromAnOlderOneWhereTheVolumeFailsToGiveTheNewest) {
  for (const int step : {10, 20}) save(step);
  Failing calls(20, /*times=*/100);
  const Resumed resumed = resume_with(calls);
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->state.step, 10);
  const Parameter& first = rank_.parameters.layout.parameters.front();
  EXPECT_TRUE(rank_.parameters.value(first).eq(10).all().item<bool>());
  EXPECT_EQ(calls.left(), 97) << "it is tried three times, and not again when the folder has been taken over";
  EXPECT_THAT(checkpoint::committed_steps(*real_).value(), ElementsAre(20, 10))
      << "nobody knows whether it is damaged";
}

TEST_F(Loader, AVolumeThatFailsForAMomentCostsNoStep) {
  for (const int step : {10, 20}) save(step);
  Failing calls(20, /*times=*/2);
  const Resumed resumed = resume_with(calls);
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->state.step, 20);
}

// However short stallTimeoutSeconds is.
TEST_F(Loader, SaysEveryHalfSecondThatItWaitsForTheVolume) {
  save(20);
  Failing calls(20, /*times=*/2);
  const std::string told = told_by([&](const Reporter& reporter) {
    CheckpointLoader loader(rank_, reporter, opening_with(calls), kBetweenMeetings,
                            std::chrono::milliseconds(60));
    EXPECT_TRUE(loader.resume());
  });
  const std::string line = "{\"interlude\":{\"delayedStep\":21,\"goesOn\":true}}\n";
  EXPECT_THAT(told, HasSubstr(line + line + line)) << "one for 60 ms, two for 600";
}

TEST_F(Loader, AVolumeThatFailsToGiveTheOnlyOneOrThatOfTheLastStepMayDoSoLater) {
  save(20);
  Failing calls(20, /*times=*/100);
  const auto expect_failure = [&] {
    const Resumed resumed = resume_with(calls);
    ASSERT_FALSE(resumed);
    EXPECT_EQ(resumed.error().reason, FailureReason::DataUnavailable);
    EXPECT_THAT(resumed.error().message, HasSubstr("the checkpoint of step 20 cannot be read now"));
  };
  expect_failure();
  save(10);
  options_.steps = 20;  // that step could not be saved again
  expect_failure();
}

// A machine whose memory changes a bit of what it reads, behind so many good reads and so many times.
class BadMemory final : public checkpoint::SystemCalls {
 public:
  BadMemory(int good, int bad) : good_(good), bad_(bad) {}

  ssize_t read(int file, void* bytes, std::size_t count, off_t offset) override {
    const ssize_t length = SystemCalls::read(file, bytes, count, offset);
    const bool is_bad = good_-- <= 0 && bad_-- > 0;
    if (is_bad && length > 0) static_cast<char*>(bytes)[length / 2] ^= 1;
    return length;
  }

 private:
  int good_;
  int bad_;
};

TEST_F(Loader, ABitThatMemoryChangesOnceCostsNoStep) {
  for (const int step : {10, 20}) save(step);
  for (int good = 0; good < 5; ++good) {
    BadMemory calls(good, /*bad=*/1);
    const Resumed resumed = resume_with(calls);
    ASSERT_TRUE(resumed) << resumed.error().message;
    EXPECT_EQ(resumed->state.step, 20) << "behind " << good << " good reads";
  }
  EXPECT_THAT(checkpoint::committed_steps(*real_).value(), ElementsAre(20, 10));
}

TEST_F(Loader, AMachineOnWhichOneRankOfSeveralCanReadNoneIsSuspected) {
  for (const int step : {10, 20}) save(step);
  BadMemory calls(/*good=*/0, /*bad=*/1'000'000);
  const std::vector<Resumed> resumed = resume_two(calls);
  for (std::size_t rank = 0; rank < resumed.size(); ++rank) {
    ASSERT_FALSE(resumed[rank]);
    EXPECT_EQ(resumed[rank].error().reason,
              rank == 1 ? FailureReason::SilentCorruption : FailureReason::Communication);
    EXPECT_THAT(resumed[rank].error().message,
                HasSubstr("rank 1, and no other, can read none of its 2 checkpoints"));
  }
  EXPECT_THAT(names(), ElementsAre("step-000010", "step-000020"));
}

TEST_F(Loader, WhatNoRankCanReadIsWrongInput) {
  save(10);
  damage(10);
  for (const Resumed& resumed : resume_two(checkpoint::system_calls())) {
    ASSERT_FALSE(resumed);
    EXPECT_EQ(resumed.error().reason, FailureReason::InvalidInput);
    EXPECT_THAT(resumed.error().message, HasSubstr("none of its 1 checkpoints can be read; to begin anew"));
  }
}

TEST_F(Loader, WeightsThatAreNotThereAreAFailureOfTheMachineAndWrongOnesAreNot) {
  const auto reason = [&](const std::string& folder) {
    options_.init_from = files_.path(folder);
    return CheckpointLoader(rank_, reporter_).resume().error().reason;
  };
  EXPECT_EQ(reason("nowhere"), FailureReason::DataUnavailable);
  std::filesystem::create_directory(files_.path("unmounted"));
  EXPECT_EQ(reason("unmounted"), FailureReason::DataUnavailable);
  files_.write("other/notes.txt", "");
  EXPECT_EQ(reason("other"), FailureReason::InvalidInput);
}

// Has something happen between the take-over and what follows it.
class AfterRename final : public checkpoint::SystemCalls {
 public:
  explicit AfterRename(std::function<void()> event) : event_(std::move(event)) {}

  int rename(int folder, const char* name, int new_folder, const char* new_name, unsigned flags) override {
    is_renamed_ = true;
    return SystemCalls::rename(folder, name, new_folder, new_name, flags);
  }
  // The first list is the one that shows whether the rename has won.
  int open(int folder, const char* path, const open_how& how) override {
    if (is_renamed_ && std::string(path) == "." && lists_++ == 1) event_();
    return SystemCalls::open(folder, path, how);
  }

 private:
  const std::function<void()> event_;
  bool is_renamed_ = false;
  int lists_ = 0;
};

TEST_F(Loader, AJobThatDoesNotResumeGoesOnFromItsOwnAloneInEveryAttempt) {
  options_.checkpoint.resumes = false;
  options_.rendezvous.attempt = 2;
  save(10, taken_by("run-b", 1));
  EXPECT_THAT(refusal(), HasSubstr("has checkpoints up to step 10, and checkpoint.resume is Never"));
  save(20, taken_by("run-a", 1));
  const Resumed resumed = CheckpointLoader(rank_, reporter_).resume();
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->state.step, 20);
}

TEST_F(Loader, RemovesNothingOfWhoeverHasTakenOverSince) {
  taken_by("run-a", 1);
  AfterRename calls([&] {
    taken_by("run-b", 1);
    files_.write("states/step-000010.tmp-1-run-b/rank-0.json", "");
  });
  options_.rendezvous.attempt = 2;
  EXPECT_TRUE(resume_with(calls));
  EXPECT_THAT(names(), ElementsAre("owner-000003.1.run-b.tiny", "step-000010.tmp-1-run-b"));
}

}  // namespace
}  // namespace caravan::trainer
