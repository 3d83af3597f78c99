#include "planner/schedule/post_validation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "common/testing/turn.h"
#include "planner/schedule/generate.h"
#include "planner/schedule/simulate.h"

namespace caravan::planner {
namespace {

struct Sample {
  ScheduleKind kind = ScheduleKind::OneFOneB;
  Schedule schedule;
  OpTimes times;
  int under_way = 1;
};

Sample even_sample(ScheduleKind kind, int stages, int micro_batches) {
  ScheduleSpec spec = smallest_spec(kind, stages, micro_batches);
  if (cuts_sequences(kind)) spec.segments = 2;
  OpTimes times = even_times(std::vector<PhaseTimes>(stages), spec.map(), spec.segments);
  return {kind, generate_schedule(spec, times), std::move(times), messages_under_way(kind)};
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  for (const ScheduleKind kind : all_schedule_kinds()) {
    for (const int stages : {1, 2, 3, 4, 8}) all.push_back(even_sample(kind, stages, 3 * stages));
  }
  return all;
}

std::string name_of(const Sample& sample) {
  return std::string(schedule_name(sample.kind)) + " p=" + std::to_string(sample.schedule.stages);
}

std::vector<int> leading(ScheduleKind kind, int stages, int micro_batches) {
  const Sample sample = even_sample(kind, stages, micro_batches);
  return leading_forwards(sample.schedule, sample.under_way);
}

// As far as messages find room before the last stage takes the first one.
TEST(LeadingForwards, AreThoseThatFillThePipeline) {
  EXPECT_EQ(leading(ScheduleKind::GPipe, 3, 5), (std::vector{2, 1, 0}));
  EXPECT_EQ(leading(ScheduleKind::OneFOneB, 4, 8), (std::vector{3, 2, 1, 0}));
  EXPECT_EQ(leading(ScheduleKind::ZeroBubbleH2, 4, 8), (std::vector{6, 4, 2, 0}));
  EXPECT_EQ(leading(ScheduleKind::VZeroBubble, 4, 8), (std::vector{7, 8, 8, 8}));
}

TEST(LeadingForwards, EndBeforeOneThatWouldWaitForRoomBehindABackward) {
  const Schedule schedule =
      generate_schedule({.kind = ScheduleKind::ZeroBubbleH2, .stages = 4, .micro_batches = 8});
  EXPECT_EQ(leading_forwards(schedule, 2), (std::vector{6, 4, 2, 0}));
  EXPECT_EQ(leading_forwards(schedule, 1), (std::vector{3, 2, 1, 0}));
}

// The idle time between the steps of other schedules is not the barrier's.
TEST(Period, IsShorterThanAStepWhereAScheduleValidatesAfterwardsAndThereWithoutABubble) {
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(name_of(sample));
    const double alone = simulate(sample.schedule, sample.times, sample.under_way).makespan;
    const double work = sample.schedule.micro_batches * PhaseTimes{}.total();
    const double in_a_row = period(sample.schedule, sample.times, sample.under_way);
    EXPECT_DOUBLE_EQ(in_a_row, validates_afterwards(sample.kind) ? work : alone);
  }
}

TEST(Period, IsNeverShorterThanTheWorkOfAStageNorLongerThanAStepAlone) {
  std::mt19937 dice(5);
  const auto some = [&] { return 0.5 + static_cast<double>(dice() % 1000) / 500; };
  for (const ScheduleKind kind : {ScheduleKind::ZeroBubbleH2, ScheduleKind::VZeroBubble}) {
    for (int round = 0; round < 50; ++round) {
      const ScheduleSpec spec = smallest_spec(kind, 4, 9);
      std::vector<PhaseTimes> stages;
      for (int stage = 0; stage < spec.stages; ++stage) stages.push_back({some(), some(), some()});
      const OpTimes times = even_times(stages, spec.map(), 1, 0.1);
      const Schedule schedule = generate_schedule(spec, times);
      const int under_way = messages_under_way(kind);
      const double found = period(schedule, times, under_way);
      const double busiest = std::ranges::max(stages, {}, &PhaseTimes::total).total();
      EXPECT_GE(found * (1 + 1e-12), spec.micro_batches * busiest);
      EXPECT_LE(found, simulate(schedule, times, under_way).makespan * (1 + 1e-12));
    }
  }
}

std::vector<Op> computed(const std::vector<Action>& actions) {
  std::vector<Op> ops;
  for (const Action& action : actions) {
    if (action.type == ActionType::Compute) ops.push_back(action.op);
  }
  return ops;
}

int64_t count(const std::vector<Action>& actions, ActionType type) {
  return std::ranges::count(actions, type, &Action::type);
}

TEST(SplitStep, HasEveryActionOnceAndInOrderButForReceivesOfTheRest) {
  CARAVAN_BY_TURNS();
  for (const Sample& sample : samples()) {
    for (int stage = 0; stage < sample.schedule.stages; ++stage) {
      SCOPED_TRACE(name_of(sample) + " stage " + std::to_string(stage));
      const StepActions step = split_step(sample.schedule, stage, sample.under_way);
      const auto whole = add_transfers(sample.schedule, stage, sample.under_way);
      EXPECT_EQ(computed(step.leading).size(),
                static_cast<std::size_t>(leading_forwards(sample.schedule, sample.under_way)[stage]));
      std::vector<Action> joined = step.leading;
      joined.insert(joined.end(), step.rest.begin(), step.rest.end());
      EXPECT_TRUE(std::ranges::is_permutation(joined, whole));
      const auto but_receives = [](std::vector<Action> actions) {
        std::erase_if(actions, [](const Action& each) { return each.type == ActionType::PostReceive; });
        return actions;
      };
      EXPECT_EQ(but_receives(joined), but_receives(whole));
    }
  }
}

TEST(SplitStep, LeadingWaitsForNothingThatOthersDoLater) {
  for (const Sample& sample : samples()) {
    for (int stage = 0; stage < sample.schedule.stages; ++stage) {
      SCOPED_TRACE(name_of(sample) + " stage " + std::to_string(stage));
      const std::vector<Action> actions = split_step(sample.schedule, stage, sample.under_way).leading;
      EXPECT_EQ(count(actions, ActionType::PostReceive), count(actions, ActionType::AwaitReceive));
      for (const Op& op : computed(actions)) EXPECT_EQ(op.type, OpType::Forward);
    }
  }
}

TEST(SplitStep, RecallTakesExactlyWhatLeadingForwardsHaveSent) {
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(name_of(sample));
    int64_t sent = 0;
    int64_t taken = 0;
    for (int stage = 0; stage < sample.schedule.stages; ++stage) {
      const StepActions step = split_step(sample.schedule, stage, sample.under_way);
      sent += count(step.leading, ActionType::StartSend);
      taken += count(step.leading, ActionType::AwaitReceive) + count(step.recall, ActionType::AwaitReceive);
      EXPECT_EQ(count(step.leading, ActionType::StartSend),
                count(step.leading, ActionType::FinishSend) + count(step.recall, ActionType::FinishSend));
      EXPECT_TRUE(computed(step.recall).empty());
    }
    EXPECT_EQ(sent, taken);
  }
}

}  // namespace
}  // namespace caravan::planner
