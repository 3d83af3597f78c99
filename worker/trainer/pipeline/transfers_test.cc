#include "worker/trainer/pipeline/transfers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "planner/schedule/generate.h"

namespace caravan::trainer {
namespace {

using planner::Op;
using planner::OpType;
using planner::Schedule;
using planner::ScheduleKind;

std::string text(const Action& action, const Schedule& schedule) {
  const char* side = action.direction == Direction::Activations ? "a" : "g";
  switch (action.type) {
    case ActionType::PostReceive:
      return fmt::format("post-{}{}", side, action.op.micro_batch);
    case ActionType::FinishSend:
      return fmt::format("finish-{}", side);
    case ActionType::AwaitReceive:
      return fmt::format("await-{}{}", side, action.op.micro_batch);
    case ActionType::Compute:
      return planner::op_text(action.op, schedule);
    case ActionType::StartSend:
      return fmt::format("send-{}{}", side, action.op.micro_batch);
  }
  return {};
}

std::string text(const Schedule& schedule, int stage) {
  std::vector<std::string> words;
  for (const Action& action : add_transfers(schedule, stage)) words.push_back(text(action, schedule));
  return fmt::format("{}", fmt::join(words, " "));
}

TEST(Transfers, StandAroundTheOpsThatNeedThem) {
  const Schedule schedule = planner::generate_schedule({.stages = 2, .micro_batches = 2});
  EXPECT_EQ(text(schedule, 0),
            "finish-a F0 send-a0 finish-a F1 send-a1 post-g0 await-g0 B0 post-g1 await-g1 B1 finish-a");
  EXPECT_EQ(text(schedule, 1),
            "post-a0 await-a0 F0 finish-g B0 send-g0 post-a1 await-a1 F1 finish-g B1 send-g1 finish-g");
}

TEST(Transfers, OneStageHasNone) {
  EXPECT_EQ(text(planner::generate_schedule({.kind = ScheduleKind::GPipe, .micro_batches = 2}), 0),
            "F0 F1 B0 B1");
}

TEST(Transfers, EveryMessageOfAPairHasATagOfItsOwn) {
  const Schedule schedule = planner::generate_schedule({.stages = 3, .micro_batches = 5});
  std::map<std::pair<int, int>, std::multiset<int>> sent;
  for (int stage = 0; stage < 3; ++stage) {
    for (const Action& action : add_transfers(schedule, stage)) {
      if (action.type == ActionType::StartSend) sent[{stage, action.peer}].insert(action.tag);
    }
  }
  EXPECT_EQ(sent.size(), 4u);
  for (const auto& [pair, tags] : sent) {
    EXPECT_EQ(tags.size(), 5u);
    EXPECT_EQ(std::set<int>(tags.begin(), tags.end()).size(), 5u) << pair.first << " to " << pair.second;
  }
}

TEST(Transfers, ForwardsOnlyNeedNoGradients) {
  EXPECT_EQ(text(forward_only(2, 2), 1), "post-a0 await-a0 F0 post-a1 await-a1 F1 finish-g");
}

}  // namespace
}  // namespace caravan::trainer
