// In every layout and with every schedule all ranks of a group make the same calls in the same order, and a
// stage asks for activations, and for gradients, in the order in which another one sends them: NCCL matches
// calls by nothing else, and hangs where they differ. The two together have no common order where a stage has
// several chunks.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "common/json.h"
#include "tests/numerics/trainer_world.h"
#include "tests/support/tiny_job.h"
#include "worker/trainer/comm/testing/recorded_groups.h"
#include "worker/trainer/comm/testing/streamed_groups.h"
#include "worker/trainer/loop/rank_config.h"
#include "worker/trainer/loop/trainer.h"

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
  }
  return all;
}

class CollectiveOrder : public testing::TestWithParam<Case> {
 protected:
  CollectiveOrder() : spec_(tiny_spec(corpus_.files().path("corpus/genesis.bin"))) {
    spec_.mutable_model()->mutable_architecture()->set_layers(layers_of(GetParam().layout));
    spec_.mutable_model()->mutable_architecture()->set_tied_embeddings(true);
  }

  // body: of each rank, on a thread of its own.
  void on_all_ranks(const std::function<void(int rank)>& body) {
    const auto ranks = static_cast<int>(GetParam().layout.mesh.ranks());
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) threads.emplace_back([&body, rank] { body(rank); });
  }

  // Three steps.
  void train(int number, const trainer::GroupFactory& factory) {
    const auto options =
        trainer::parse_rank_config(to_json(rank_config(spec_, GetParam().layout, number))).value();
    const UniqueFd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
    const trainer::Reporter reporter(nowhere.get());
    trainer::ActivityBoard board;
    trainer::MemoryLedger ledger;
    const trainer::CommandListener commands(/*fd=*/-1, board, reporter);
    trainer::Rank rank(options, ledger, board, factory);
    const trainer::Outcome trained =
        trainer::Trainer(rank, trainer::open_data(options).value(), reporter, commands).train();
    EXPECT_TRUE(trained) << "rank " << number << ": " << trained.error().message;
  }

 private:
  const test::JobFolder corpus_;
  v1alpha1::JobSpec spec_;
};

TEST_P(CollectiveOrder, IsTheSameOnAllRanksOfAGroup) {
  RecordedGroups groups;
  on_all_ranks([&](int rank) { train(rank, groups.factory()); });
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

// Where a wrong order would hang: nothing else tells the operations of a lane apart.
TEST_P(CollectiveOrder, IsEnoughForStreamsOfDevices) {
  trainer::StreamedGroups groups;
  on_all_ranks([&](int rank) {
    trainer::Watchdog watchdog({.rank = rank}, groups.board, nullptr);
    train(rank, groups.factory(watchdog));
    EXPECT_NO_THROW(watchdog.throw_if_lost());
  });
}

std::string name_of_case(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Layouts, CollectiveOrder, testing::ValuesIn(cases()), name_of_case);

}  // namespace
}  // namespace caravan::numerics
