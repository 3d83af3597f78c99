// Several ranks that save together, each on a thread of its own with its own volume over the same folder.
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint/folder/store.h"
#include "checkpoint/format/names.h"
#include "checkpoint/testing/faulty_volume.h"
#include "common/listen.h"
#include "common/process.h"
#include "common/testing/temporary_folder.h"
#include "worker/trainer/comm/network_groups.h"
#include "worker/trainer/loop/checkpoint_saver.h"
#include "worker/trainer/loop/checkpoint_terms.h"
#include "worker/trainer/loop/testing/tiny_options.h"

namespace caravan::trainer {
namespace {

using checkpoint::Volume;
using checkpoint::testing::FaultyVolume;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr planner::MeshShape kMesh = {.tensor = 2, .data = 2, .pipeline = 1};
constexpr int kRanks = 4;

checkpoint::TrainingState state_after(int step) {
  return {.step = step, .updates = step, .samples = 2 * step};
}

class SavingRank {
 public:
  SavingRank(const TrainerOptions& options, Volume& real)
      : options_(options),
        real_(real),
        rank_(options_, ledger_, board_, network_groups(options_.rendezvous).value()) {
    auto volume = std::make_unique<FaultyVolume>(real);
    volume_ = volume.get();
    EXPECT_TRUE(set_nonblocking(pipe_.read_end.get()));
    saver_.emplace(
        rank_, reporter_,
        Beginning{.state = {}, .model = options_.model, .tokenizer = {}, .volume = std::move(volume)});
  }

  int number() const { return options_.rendezvous.rank; }
  FaultyVolume& volume() { return *volume_; }
  at::Tensor& values() { return rank_.parameters.values; }

  // As the trainer does it.
  void end_step(int step) {
    const SaveVerdict verdict = agree_on_save(*rank_.mesh.world, saver_->share(step, /*asked=*/std::nullopt));
    const Outcome outcome = saver_->after_step(state_after(step), verdict, /*skipped=*/false);
    EXPECT_TRUE(outcome) << outcome.error().message;
  }
  void finish(int step) {
    const Outcome outcome = saver_->finish(state_after(step), /*must=*/false);
    EXPECT_TRUE(outcome) << outcome.error().message;
  }

  // The weights of that checkpoint that this rank holds.
  at::Tensor saved_values(int step) {
    values().zero_();
    auto from = checkpoint::Checkpoint::open(real_, step).value();
    const Status read = read_state(from, state_of(rank_));
    EXPECT_TRUE(read) << read.error().message;
    return values();
  }

  std::string reports() {
    std::string text(1 << 16, '\0');
    const ssize_t size = read(pipe_.read_end.get(), text.data(), text.size());
    return text.substr(0, static_cast<std::size_t>(std::max<ssize_t>(0, size)));
  }

 private:
  const TrainerOptions options_;
  Volume& real_;
  MemoryLedger ledger_;
  ActivityBoard board_;
  Rank rank_;
  Pipe pipe_ = make_pipe().value();
  const Reporter reporter_{pipe_.write_end.get()};
  FaultyVolume* volume_ = nullptr;
  std::optional<CheckpointSaver> saver_;
};

class SavingRanks : public ::testing::Test {
 protected:
  // Gloo has one flight recorder for a process, which ranks on several threads would all write to.
  SavingRanks() { setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/1); }

  // body: what every rank does, each on its thread.
  void with_ranks(const std::function<void(SavingRank&)>& body) const {
    ListeningSocket listener = listen_on("127.0.0.1", "0").value();
    std::vector<std::jthread> threads;
    for (int number = 0; number < kRanks; ++number) {
      threads.emplace_back([&, number] {
        try {
          TrainerOptions options = tiny_options(files_.path("states"), kMesh, number);
          options.rendezvous.port = listener.port;
          options.rendezvous.listen_fd = number == 0 ? listener.fd.release() : -1;
          options.rendezvous.network_interface = "lo";
          SavingRank rank(options, *real_);
          body(rank);
        } catch (const std::exception& error) {
          ADD_FAILURE() << "rank " << number << ": " << error.what();
        }
      });
    }
  }

  std::vector<int> saved() const { return checkpoint::committed_steps(*real_).value(); }
  std::vector<std::string> names() const { return real_->names("").value(); }

  const test::TemporaryFolder files_;
  const std::unique_ptr<Volume> real_ = checkpoint::make_volume(files_.path("states")).value();
};

TEST_F(SavingRanks, AllTrainOnUntilTheSlowestHasWritten) {
  std::promise<void> gate;
  const std::shared_future<void> opened = gate.get_future().share();
  with_ranks([&](SavingRank& rank) {
    if (rank.number() == kRanks - 1) rank.volume().before = [&] { opened.wait(); };
    const at::Tensor trained = rank.values().clone();
    rank.end_step(10);
    for (int step = 11; step < 19; ++step) {
      rank.values().fill_(step);
      rank.end_step(step);
    }
    if (rank.number() == 0) {
      EXPECT_THAT(saved(), IsEmpty());
      EXPECT_THAT(rank.reports(), Not(HasSubstr("\"checkpoint\"")));
      gate.set_value();
    }
    rank.finish(19);
    EXPECT_TRUE(at::equal(rank.saved_values(10), trained)) << "rank " << rank.number();
    const at::Tensor last = rank.saved_values(19);
    EXPECT_TRUE(at::equal(last, trained.ne(0).mul(18))) << "rank " << rank.number();
    EXPECT_GT(rank.volume().operations().size(), 10u) << "rank " << rank.number() << " wrote nothing";
  });
  EXPECT_THAT(saved(), ElementsAre(19, 10));
  for (const int step : {10, 19}) EXPECT_TRUE(checkpoint::Checkpoint::open(*real_, step)->verify()) << step;
}

// The first one also makes the folder and commits.
TEST_F(SavingRanks, OneThatFailsCostsThatCheckpointOnAllOfThem) {
  for (const int failing : {0, 2}) {
    const int step = 10 * (failing + 1);
    with_ranks([&](SavingRank& rank) {
      if (rank.number() == failing) rank.volume().fails_at = 1;
      rank.end_step(step);
      for (int next = step + 1; next < step + 9; ++next) rank.end_step(next);
      rank.finish(step + 9);
      if (rank.number() != 0) return;
      const std::string reports = rank.reports();
      EXPECT_THAT(reports, HasSubstr("\"Failed\""));
      EXPECT_THAT(reports, HasSubstr(failing == 0 ? "No space left on device" : "rank 2 had trouble"));
      EXPECT_THAT(reports, HasSubstr("\"Written\"")) << "the next one";
    });
    EXPECT_THAT(saved(), ElementsAre(step + 9)) << "rank " << failing;
    EXPECT_THAT(names(), ElementsAre(checkpoint::step_folder(step + 9))) << "something is left over";
    ASSERT_TRUE(real_->remove_folder(checkpoint::step_folder(step + 9)));
  }
}

}  // namespace
}  // namespace caravan::trainer
