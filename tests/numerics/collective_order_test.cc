// In every layout and with every schedule all ranks of a group make the same calls in the same order, and a
// stage asks for activations, and for gradients, in the order in which another one sends them: NCCL matches
// calls by nothing else, and hangs where they differ. The two together have no common order where a stage has
// several chunks. Sums of gradients that begin during backwards, and gathers of values that end during
// forwards, keep this order, and change no bit. So do evaluations, comparisons of replicas and checkpoints.
#include <ATen/ops/equal.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint/format/names.h"
#include "common/json.h"
#include "common/testing/sample.h"
#include "tests/numerics/trainer_world.h"
#include "tests/support/tiny_job.h"
#include "worker/trainer/comm/testing/recorded_groups.h"
#include "worker/trainer/comm/testing/streamed_groups.h"
#include "worker/trainer/loop/rank_config.h"
#include "worker/trainer/loop/trainer.h"
#include "worker/trainer/trace/testing/scripted_device.h"

namespace caravan::numerics {
namespace {

using planner::Layout;
using planner::ScheduleKind;
using trainer::GroupCalls;
using trainer::RecordedGroups;

struct Case {
  std::string name;
  Layout layout;
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name;
}

std::vector<Case> cases() {
  std::vector<Case> all = {
      {"Tensor2", layout_of(2, 1, 1)},
      {"Tensor2WithoutSequenceParallel",
       changed(layout_of(2, 1, 1), [](Layout& layout) { layout.sequence_parallel = false; })},
      {"Data2", layout_of(1, 1, 2)},
      {"Data4Whole", changed(layout_of(1, 1, 4), [](Layout& layout) { layout.zero_stage = 0; })},
      {"Tensor2Pipeline2Data2Checkpointed",
       changed(layout_of(2, 2, 2), [](Layout& layout) { layout.activation_checkpointing = true; })},
      {"Pipeline2Uneven", changed(layout_of(1, 2, 1),
                                  [](Layout& layout) {
                                    layout.layers_per_stage = {3, 1};
                                  })},
  };
  for (const ScheduleKind kind :
       {ScheduleKind::GPipe, ScheduleKind::OneFOneB, ScheduleKind::Interleaved, ScheduleKind::ZeroBubbleH1,
        ScheduleKind::ZeroBubbleH2, ScheduleKind::VMin, ScheduleKind::VHalf, ScheduleKind::VZeroBubble,
        ScheduleKind::Seq1F1B, ScheduleKind::SeqZeroBubble}) {
    const std::string name(schedule_name(kind));
    all.push_back({"Pipeline2" + name, layout_of(1, 2, 1, kind)});
    all.push_back({"Tensor2Pipeline4" + name, layout_of(2, 4, 1, kind)});
    all.push_back({"Pipeline2Data2" + name, layout_of(1, 2, 2, kind)});
  }
  return all;
}

class CollectiveOrder : public testing::TestWithParam<Case> {
 protected:
  CollectiveOrder() : spec_(tiny_spec(corpus_.files().path("corpus/genesis.bin"))) {
    spec_.mutable_model()->mutable_architecture()->set_layers(layers_of(GetParam().layout));
    spec_.mutable_model()->mutable_architecture()->set_tied_embeddings(true);
  }

  // train_rank: of each rank, on a thread of its own. Returns what that returns, by rank.
  std::vector<at::Tensor> on_all_ranks(const std::function<at::Tensor(int rank)>& train_rank) {
    std::vector<at::Tensor> values(static_cast<std::size_t>(GetParam().layout.mesh.ranks()));
    {
      std::vector<std::jthread> threads;
      for (int rank = 0; rank < static_cast<int>(values.size()); ++rank)
        threads.emplace_back([&, rank] { values[static_cast<std::size_t>(rank)] = train_rank(rank); });
    }
    return values;
  }

  trainer::TrainerOptions options_of(int number) const {
    return trainer::parse_rank_config(to_json(rank_config(spec_, GetParam().layout, number))).value();
  }

  // Three steps. Returns the values of the rank's parameters.
  // marks: as of a device, which rehearses.
  at::Tensor train(int number, const trainer::GroupFactory& factory, trainer::DeviceMarks* marks = nullptr) {
    const trainer::TrainerOptions options = options_of(number);
    const UniqueFd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
    const trainer::Reporter reporter(nowhere.get());
    trainer::ActivityBoard board;
    trainer::MemoryLedger ledger;
    const trainer::CommandListener commands(/*fd=*/-1, board, reporter);
    trainer::Rank rank(options, ledger, board, factory, {.marks = marks});
    const trainer::Outcome trained =
        trainer::Trainer(rank, trainer::open_data(options).value(), reporter, commands).train();
    EXPECT_TRUE(trained) << "rank " << number << ": " << trained.error().message;
    return rank.parameters.values.clone();
  }

  std::vector<at::Tensor> train_recorded(RecordedGroups& groups) {
    return on_all_ranks([&](int rank) { return train(rank, groups.factory()); });
  }

  // Nobody looks at the board before the end, when the rank that serves it may be gone.
  std::vector<at::Tensor> train_streamed(trainer::StreamedGroups& groups) {
    groups.board.unreachable = true;
    return on_all_ranks([&](int rank) {
      trainer::Watchdog watchdog({.rank = rank}, groups.board, nullptr);
      at::Tensor own = train(rank, groups.factory(watchdog, options_of(rank).rendezvous.ways));
      watchdog.ask(trainer::Watchdog::Clock::now());
      watchdog.judge(trainer::Watchdog::Clock::now());
      EXPECT_NO_THROW(watchdog.throw_if_lost());
      return own;
    });
  }

  const test::JobFolder corpus_;
  v1alpha1::JobSpec spec_;
};

std::vector<Case> whole_cases() {
  std::vector<Case> all;
  for (const ScheduleKind kind :
       {ScheduleKind::OneFOneB, ScheduleKind::Interleaved, ScheduleKind::ZeroBubbleH1, ScheduleKind::VHalf,
        ScheduleKind::SeqZeroBubble}) {
    all.push_back({"Tensor2Pipeline2Data2" + std::string(schedule_name(kind)), layout_of(2, 2, 2, kind)});
  }
  return all;
}

// With all that a run does beside steps: the weights are evaluated behind each, and compared and saved twice.
class CollectiveOrderOfWholeRuns : public CollectiveOrder {
 protected:
  CollectiveOrderOfWholeRuns() {
    spec_.mutable_data()->set_validation_path(corpus_.files().path("corpus/held-out.bin"));
    spec_.mutable_training()->mutable_evaluation()->set_every_steps(1);
    spec_.mutable_training()->mutable_evaluation()->set_batches(1);
    spec_.mutable_checkpoint()->set_every_steps(2);
  }

  void save_in(const std::string& folder) {
    spec_.mutable_checkpoint()->set_path(corpus_.files().path(folder));
  }
  bool has_saved(int step) const {
    return std::filesystem::exists(spec_.checkpoint().path() + "/" + checkpoint::step_folder(step) + "/" +
                                   checkpoint::kManifestFile);
  }
};

void expect_one_order(const RecordedGroups& groups) {
  ASSERT_FALSE(groups.calls().empty());
  for (const auto& [name, ranks] : groups.calls()) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const GroupCalls& calls = ranks[rank];
      EXPECT_THAT(calls.collectives, testing::ContainerEq(ranks[0].collectives))
          << "rank " << rank << " of " << name;
      for (const auto& [channel, sent] : calls.sends) {
        const auto& received = ranks.at(static_cast<std::size_t>(channel.peer)).receives;
        const trainer::Channel back{.peer = static_cast<int>(rank), .number = channel.number};
        ASSERT_TRUE(received.contains(back)) << name;
        EXPECT_THAT(received.at(back), testing::ContainerEq(sent))
            << "from rank " << rank << " to rank " << channel.peer << " of " << name;
      }
    }
  }
}

void expect_same_bits(const std::vector<at::Tensor>& actual, const std::vector<at::Tensor>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t rank = 0; rank < expected.size(); ++rank)
    EXPECT_TRUE(at::equal(actual[rank], expected[rank])) << "the weights of rank " << rank << " differ";
}

TEST_P(CollectiveOrder, IsTheSameOnAllRanksOfAGroup) {
  RecordedGroups groups;
  train_recorded(groups);
  expect_one_order(groups);
}

// A sum that began before the last micro-batch had added to it would miss some of it here, since it is over
// when it has begun.
TEST_P(CollectiveOrder, IsTheSameWhereSumsBeginDuringBackwards) {
  RecordedGroups apart;
  RecordedGroups overlapping(/*overlap=*/true);
  const std::vector<at::Tensor> expected = train_recorded(apart);
  expect_same_bits(train_recorded(overlapping), expected);
  expect_one_order(overlapping);
  for (const auto& [name, ranks] : apart.calls()) {
    std::vector<std::string> before = ranks[0].collectives;
    std::vector<std::string> now = overlapping.calls().at(name)[0].collectives;
    const bool backwards_are_whole = !planner::splits_backward(GetParam().layout.schedule);
    if (backwards_are_whole && name.starts_with("data") && ranks.size() > 1) {
      EXPECT_NE(now, before) << name << ": sums begin in the order of the buckets, not in that of backwards";
    }
    std::ranges::sort(before);
    std::ranges::sort(now);
    EXPECT_EQ(now, before) << name << ": not the same calls";
  }
}

// Where a wrong order would hang: nothing else tells the operations of a lane apart. Sums and gathers go on
// while the ranks compute.
TEST_P(CollectiveOrder, IsEnoughForStreamsOfDevices) {
  trainer::StreamedGroups groups;
  const std::vector<at::Tensor> values = train_streamed(groups);
  RecordedGroups apart;
  expect_same_bits(values, train_recorded(apart));
}

// Which a device's is that waits for a kernel to load while a message is under way.
TEST_P(CollectiveOrder, ARehearsalSendsNothingToOtherStagesAndChangesNoBit) {
  RecordedGroups at_once;
  RecordedGroups rehearsed(/*overlap=*/true);
  const std::vector<at::Tensor> expected = train_recorded(at_once);
  expect_same_bits(on_all_ranks([&](int rank) {
                     trainer::ScriptedDevice device;
                     return train(rank, rehearsed.factory(), &device);
                   }),
                   expected);
  expect_one_order(rehearsed);
  for (const auto& [name, ranks] : at_once.calls()) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const GroupCalls& calls = rehearsed.calls().at(name)[rank];
      EXPECT_EQ(calls.sends, ranks[rank].sends) << "of rank " << rank << " of " << name;
      if (name.starts_with("tensor") && ranks.size() > 1 && GetParam().layout.mesh.pipeline > 1) {
        EXPECT_GT(calls.collectives.size(), ranks[rank].collectives.size()) << "it takes its sums along";
      }
    }
  }
}

TEST_P(CollectiveOrderOfWholeRuns, IsTheSameOnAllRanksAndEnoughForStreams) {
  RecordedGroups recorded;
  save_in("recorded");
  const std::vector<at::Tensor> expected = train_recorded(recorded);
  expect_one_order(recorded);
  EXPECT_TRUE(has_saved(2) && has_saved(3));
  trainer::StreamedGroups streamed;
  save_in("streamed");
  expect_same_bits(train_streamed(streamed), expected);
  EXPECT_TRUE(has_saved(2) && has_saved(3));
}

std::vector<Case> open_cases() {
  return {{"Pipeline2Data2VZB", layout_of(1, 2, 2, ScheduleKind::VZeroBubble)},
          {"Pipeline4ZBH2", layout_of(1, 4, 1, ScheduleKind::ZeroBubbleH2)}};
}

// Steps that begin before the ones before are settled, without evaluations behind which none does.
class CollectiveOrderOfOpenSteps : public CollectiveOrder {
 protected:
  CollectiveOrderOfOpenSteps() {
    spec_.mutable_training()->set_steps(5);
    spec_.mutable_training()->mutable_optimizer()->set_gradient_clip_norm("1000");  // clips nothing
  }
};

std::size_t sends(const RecordedGroups& groups) {
  std::size_t all = 0;
  for (const auto& [name, ranks] : groups.calls()) {
    for (const GroupCalls& calls : ranks) {
      for (const auto& [channel, sent] : calls.sends) all += sent.size();
    }
  }
  return all;
}

// What it sent before is taken, and sent again behind the checkpoint.
TEST_P(CollectiveOrderOfOpenSteps, AStepThatHasBegunBeginsAnewBehindACheckpoint) {
  RecordedGroups without;
  const std::vector<at::Tensor> expected = train_recorded(without);
  spec_.mutable_checkpoint()->set_path(corpus_.files().path("saved"));
  spec_.mutable_checkpoint()->set_every_steps(3);
  RecordedGroups saving;
  expect_same_bits(train_recorded(saving), expected);
  expect_one_order(saving);
  EXPECT_GT(sends(saving), sends(without));
}

std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Layouts, CollectiveOrder, testing::ValuesIn(test::sampled(cases(), 2)),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(Layouts, CollectiveOrderOfOpenSteps, testing::ValuesIn(open_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Layouts, CollectiveOrderOfWholeRuns, testing::ValuesIn(whole_cases()), name_of_case);

}  // namespace
}  // namespace caravan::numerics
