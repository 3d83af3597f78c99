#include "planner/schedule/transfers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "planner/schedule/dependencies.h"
#include "planner/schedule/generate.h"

namespace caravan::planner {
namespace {

std::string text(const Action& action, const Schedule& schedule) {
  const char* side = action.direction == Direction::Activations ? "a" : "g";
  switch (action.type) {
    case ActionType::PostReceive:
      return fmt::format("post-{}{}", side, action.op.micro_batch);
    case ActionType::FinishSend:
      return fmt::format("finish-{}", side);
    case ActionType::AwaitReceive:
      return fmt::format("await-{}{}", side, action.op.micro_batch);
    case ActionType::Take:
      return fmt::format("take-{}{}", side, action.op.micro_batch);
    case ActionType::HandOver:
      return fmt::format("keep-{}{}", side, action.op.micro_batch);
    case ActionType::Compute:
      return op_text(action.op, schedule);
    case ActionType::StartSend:
      return fmt::format("send-{}{}", side, action.op.micro_batch);
  }
  return {};
}

std::string text(const Schedule& schedule, int stage, int messages_under_way = 1) {
  std::vector<std::string> words;
  for (const Action& action : add_transfers(schedule, stage, messages_under_way))
    words.push_back(text(action, schedule));
  return fmt::format("{}", fmt::join(words, " "));
}

TEST(Transfers, ReceiveOneOpAheadAndSendAtOnce) {
  const Schedule schedule = generate_schedule({.stages = 2, .micro_batches = 2});
  EXPECT_EQ(text(schedule, 0),
            "F0 send-a0 finish-a post-g0 F1 send-a1 await-g0 post-g1 B0 await-g1 B1 finish-a");
  EXPECT_EQ(text(schedule, 1),
            "post-a0 await-a0 F0 post-a1 B0 send-g0 await-a1 F1 finish-g B1 send-g1 finish-g");
}

TEST(Transfers, OneStageHasNone) {
  EXPECT_EQ(text(generate_schedule({.kind = ScheduleKind::GPipe, .micro_batches = 2}), 0), "F0 F1 B0 B1");
}

TEST(Transfers, SeveralMessagesAreUnderWayWhereThatIsAllowed) {
  const Schedule schedule = generate_schedule({.stages = 2, .micro_batches = 2});
  EXPECT_EQ(text(schedule, 0, 2),
            "F0 send-a0 post-g0 F1 send-a1 await-g0 post-g1 B0 await-g1 B1 finish-a finish-a");
}

TEST(Transfers, WhatTheNextChunkOfAStageNeedsStaysThere) {
  const ScheduleSpec spec{.kind = ScheduleKind::VZeroBubble, .stages = 2, .micro_batches = 1, .chunks = 2};
  const Schedule schedule = generate_schedule(spec);
  EXPECT_EQ(text(schedule, 0),
            "F0a send-a0 post-a0 await-a0 F0b B0b send-g0 post-g0 W0b await-g0 B0a W0a finish-a finish-g");
  EXPECT_EQ(text(schedule, 1),
            "post-a0 await-a0 F0a keep-a0 take-a0 F0b send-a0 post-g0 await-g0 B0b keep-g0 W0b take-g0 B0a "
            "send-g0 W0a finish-a finish-g");
}

TEST(Transfers, WhatIsMadeFromAMessageIsAskedForBehindIt) {
  const Schedule schedule = generate_schedule({.kind = ScheduleKind::GPipe, .stages = 2, .micro_batches = 2});
  EXPECT_EQ(text(schedule, 0),
            "F0 send-a0 finish-a F1 send-a1 post-g0 await-g0 post-g1 B0 await-g1 B1 finish-a");
}

using Made = std::set<std::pair<OutputKind, int>>;

// What all stages make while one of them has stopped before an op.
Made made_without(const Schedule& schedule, int stopped, std::size_t before) {
  Made made;
  std::vector<std::size_t> next(schedule.ops.size());
  const auto can_go_on = [&](int stage) {
    if (next[stage] == (stage == stopped ? before : schedule.ops[stage].size())) return false;
    return std::ranges::all_of(dependencies_of(schedule, stage, schedule.ops[stage][next[stage]]),
                               [&](const Dependency& needed) {
                                 return made.contains({needed.kind, needed.unit});
                               });
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (int stage = 0; stage < schedule.stages; ++stage) {
      for (; can_go_on(stage); moved = true) {
        const auto output = output_of(schedule, stage, schedule.ops[stage][next[stage]++]);
        if (output) made.insert({output->kind, output->unit});
      }
    }
  }
  return made;
}

// Ops of a stage whose receive is posted before the op in front of them runs.
std::vector<Op> asked_for_early(const Schedule& schedule, int stage) {
  std::vector<Op> early;
  std::size_t done = 0;
  for (const Action& action : add_transfers(schedule, stage, 1)) {
    if (action.type == ActionType::PostReceive && action.op != schedule.ops[stage][done])
      early.push_back(action.op);
    if (action.type == ActionType::Compute) ++done;
  }
  return early;
}

// Those that others make without the op in front of them.
std::vector<Op> made_meanwhile(const Schedule& schedule, int stage) {
  std::vector<Op> found;
  for (std::size_t before = 0; before + 1 < schedule.ops[stage].size(); ++before) {
    const Op& op = schedule.ops[stage][before + 1];
    const Made made = made_without(schedule, stage, before);
    for (const Dependency& needed : dependencies_of(schedule, stage, op)) {
      if (needed.stage != stage && made.contains({needed.kind, needed.unit})) found.push_back(op);
    }
  }
  return found;
}

TEST(Transfers, WhatAnyScheduleMakesMeanwhileIsAskedForEarlyAndNothingElse) {
  for (const ScheduleKind kind : all_schedule_kinds()) {
    for (const int stages : {2, 3, 4}) {
      for (const int micro_batches : {1, 2, stages, 2 * stages}) {
        ScheduleSpec spec = smallest_spec(kind, stages, micro_batches);
        if (cuts_sequences(kind)) spec.segments = 3;
        if (!check_spec(spec)) continue;
        SCOPED_TRACE(fmt::format("{} p{} m{}", schedule_name(kind), stages, micro_batches));
        const Schedule schedule = generate_schedule(spec);
        for (int stage = 0; stage < stages; ++stage) {
          EXPECT_EQ(asked_for_early(schedule, stage), made_meanwhile(schedule, stage)) << stage;
          EXPECT_EQ(asked_for_early(forwards_of(schedule), stage),
                    made_meanwhile(forwards_of(schedule), stage))
              << stage << ", of evaluation";
        }
      }
    }
  }
}

TEST(Transfers, EveryMessageThatAStageGetsHasATagOfItsOwn) {
  for (const ScheduleSpec& spec :
       {ScheduleSpec{.stages = 3, .micro_batches = 5},
        ScheduleSpec{.kind = ScheduleKind::Interleaved, .stages = 3, .micro_batches = 6, .chunks = 2},
        ScheduleSpec{.kind = ScheduleKind::VHalf, .stages = 3, .micro_batches = 5, .chunks = 2},
        ScheduleSpec{.kind = ScheduleKind::Seq1F1B, .stages = 3, .micro_batches = 5, .segments = 4}}) {
    const Schedule schedule = generate_schedule(spec);
    std::set<std::tuple<int, Direction, int>> sent;
    std::set<std::tuple<int, Direction, int>> received;
    std::size_t messages = 0;
    for (int stage = 0; stage < spec.stages; ++stage) {
      for (const Action& action : add_transfers(schedule, stage, 1)) {
        if (action.type == ActionType::StartSend) {
          sent.insert({action.peer, action.direction, action.tag});
          ++messages;
        }
        if (action.type == ActionType::PostReceive) received.insert({stage, action.direction, action.tag});
      }
    }
    EXPECT_EQ(sent.size(), messages) << schedule_name(spec.kind);
    EXPECT_EQ(sent, received) << schedule_name(spec.kind);
  }
}

TEST(Transfers, ForwardsOnlyNeedNoGradients) {
  const Schedule schedule = generate_schedule({.stages = 2, .micro_batches = 2});
  EXPECT_EQ(text(forwards_of(schedule), 1), "post-a0 await-a0 post-a1 F0 await-a1 F1");
}

}  // namespace
}  // namespace caravan::planner
