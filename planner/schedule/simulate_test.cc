#include "planner/schedule/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "planner/schedule/generate.h"
#include "planner/testing/golden_lists.h"

namespace caravan::planner {
namespace {

OpTimes uniform(const ChunkMap& map, int segments = 1, PhaseTimes times = {}, double transfer = 0) {
  return even_times(std::vector<PhaseTimes>(map.stages, times), map, segments, transfer);
}

Simulation run(const ScheduleSpec& spec, PhaseTimes times = {}) {
  const OpTimes of_ops = uniform(spec.map(), spec.segments, times);
  return simulate(generate_schedule(spec, of_ops), of_ops);
}

Simulation run(ScheduleKind kind, int stages, int micro_batches, PhaseTimes times = {}) {
  return run({.kind = kind, .stages = stages, .micro_batches = micro_batches}, times);
}

TEST(Simulate, OneFOneBReproducesThePublishedBubblesAndPeaks) {
  struct Row {
    int stages, micro_batches;
    double bubble, peak, fraction;
  };
  for (const Row& row : {Row{2, 8, 3, 2, .1111}, Row{4, 8, 9, 4, .2727}, Row{4, 16, 9, 4, .1579},
                         Row{8, 16, 21, 8, .3043}, Row{8, 32, 21, 8, .1795}}) {
    const Simulation result = run(ScheduleKind::OneFOneB, row.stages, row.micro_batches);
    EXPECT_DOUBLE_EQ(result.bubble, row.bubble);
    EXPECT_NEAR(result.bubble / result.makespan, row.fraction, 5e-5);
    EXPECT_DOUBLE_EQ(*std::ranges::max_element(result.peaks), row.peak);
  }
}

TEST(Simulate, OneFOneBHoldsOneMicroBatchLessOnEachStage) {
  EXPECT_EQ(run(ScheduleKind::OneFOneB, 4, 8).peaks, (std::vector<double>{4, 3, 2, 1}));
  EXPECT_EQ(run(ScheduleKind::OneFOneB, 4, 2).peaks, (std::vector<double>{2, 2, 2, 1}));
}

TEST(Simulate, BothSchedulesHaveTheBubbleOfTheClosedForm) {
  const PhaseTimes times{.forward = 10, .backward_input = 12, .backward_weight = 8};
  for (const ScheduleKind kind : {ScheduleKind::GPipe, ScheduleKind::OneFOneB}) {
    for (int stages = 1; stages <= 8; ++stages) {
      for (const int micro_batches : {8, 12, 24}) {
        EXPECT_DOUBLE_EQ(run(kind, stages, micro_batches, times).bubble, (stages - 1) * times.total())
            << schedule_name(kind) << " p=" << stages << " m=" << micro_batches;
      }
    }
  }
}

TEST(Simulate, GPipeHoldsEveryMicroBatch) {
  EXPECT_EQ(run(ScheduleKind::GPipe, 3, 7).peaks, (std::vector<double>{7, 7, 7}));
}

Simulation run_golden(const std::string& name, PhaseTimes times = {}) {
  const GoldenList golden = golden_list(name);
  const Schedule schedule = parse_op_lists(golden.stages, golden.shape);
  return simulate(schedule, uniform(schedule.map(), schedule.segments, times));
}

TEST(Simulate, SplitBackwardsShrinkTheBubble) {
  const PhaseTimes times{.forward = 10, .backward_input = 12, .backward_weight = 8};
  EXPECT_DOUBLE_EQ(run_golden("ZB-H1", times).bubble, 2 * (10 + 12 - 8));
}

TEST(Simulate, AWeightGradientReleasesItsShareLater) {
  const GoldenList golden = golden_list("ZB-H1");
  const Schedule schedule = parse_op_lists(golden.stages, golden.shape);
  for (int stage = 0; stage < 3; ++stage) {
    EXPECT_DOUBLE_EQ(peak_in_flight(schedule, stage, 0.6), (3 - stage) + stage * 0.6) << "stage " << stage;
  }
}

TEST(Simulate, ChunksHalveTheBubbleOfInterleavedStages) {
  const Simulation result = run_golden("Interleaved");
  EXPECT_DOUBLE_EQ(result.bubble, 1.5);
  EXPECT_EQ(result.peaks, (std::vector<double>{2.5, 1.5}));
}

// A cell is a chunk's forward, backward or weight gradient: half of a stage's.
TEST(Simulate, ReproducesTheCellsOfTheVSchedules) {
  const Simulation v_min = run_golden("V-Min");
  EXPECT_DOUBLE_EQ(2 * v_min.makespan, 27);
  EXPECT_EQ(v_min.peaks, (std::vector<double>{1.5, 2}));
  const Simulation v_half = run_golden("V-Half");
  EXPECT_DOUBLE_EQ(2 * v_half.makespan, 25);
  EXPECT_EQ(v_half.peaks, (std::vector<double>{2, 2}));
}

TEST(Simulate, SegmentsOfASequenceCutTheBubbleBySegments) {
  const Schedule schedule =
      parse_op_lists({"F0.0 F0.1 F1.0 B0.1 F1.1 B0.0 B1.1 B1.0", "F0.0 F0.1 B0.1 F1.0 B0.0 F1.1 B1.1 B1.0"},
                     {.micro_batches = 2, .segments = 2});
  const Simulation result = simulate(schedule, uniform(schedule.map(), 2));
  EXPECT_DOUBLE_EQ(result.bubble, 1.5);
  EXPECT_EQ(result.peaks, (std::vector<double>{1.5, 1}));
}

TEST(Simulate, TheSlowestStageSetsThePace) {
  const ScheduleSpec spec{.stages = 4, .micro_batches = 64};
  OpTimes times = uniform(spec.map());
  times.groups[3].forward = 5;
  const Simulation result = simulate(generate_schedule(spec), times);
  EXPECT_GE(result.makespan, 64 * 7);
  EXPECT_DOUBLE_EQ(result.bubble, result.makespan - 64 * 7);
}

TEST(Simulate, TransfersLengthenTheFill) {
  const ScheduleSpec spec{.kind = ScheduleKind::GPipe, .stages = 3, .micro_batches = 4};
  const Schedule schedule = generate_schedule(spec);
  const double without = simulate(schedule, uniform(spec.map())).makespan;
  EXPECT_DOUBLE_EQ(simulate(schedule, uniform(spec.map(), 1, {}, 0.25)).makespan, without + 4 * 0.25);
}

TEST(Simulate, AChunkHandsOverToTheNextOneOfItsStageWithoutATransfer) {
  const Schedule schedule =
      parse_op_lists({"F0a F0b B0b W0b B0a W0a"}, {.micro_batches = 1, .chunks = 2, .order = ChunkOrder::V});
  EXPECT_DOUBLE_EQ(simulate(schedule, uniform(schedule.map(), 1, {}, 10)).makespan, 3);
}

TEST(Simulate, ChunksAndSegmentsTakeWhatTheyAreSaidToTake) {
  const Schedule schedule =
      parse_op_lists({"F0.0a F0.1a F0.0b F0.1b B0.1b B0.0b B0.1a B0.0a"}, {.chunks = 2, .segments = 2});
  const OpTimes times{.groups = {{1, 2, 3}, {2, 3, 4}, {10, 20, 30}, {20, 30, 40}}, .segments = 2};
  const auto ops = time_ops(schedule, times);
  EXPECT_DOUBLE_EQ(ops[0][0].end, 1);
  EXPECT_DOUBLE_EQ(ops[0][1].end, 1 + 2);
  EXPECT_DOUBLE_EQ(ops[0][4].end - ops[0][4].start, 30 + 40);
  EXPECT_DOUBLE_EQ(ops[0].back().end, 6 + 9 + 60 + 90);
}

TEST(Simulate, NoOrderOfCostsMakesAScheduleFasterThanItsWork) {
  for (const ScheduleKind kind : {ScheduleKind::GPipe, ScheduleKind::OneFOneB}) {
    double costs[] = {1, 2, 5};
    do {
      const Simulation result = run(kind, 4, 8, {costs[0], costs[1], costs[2]});
      EXPECT_GE(result.bubble, 0);
      EXPECT_GE(result.makespan, 8 * (costs[0] + costs[1] + costs[2]));
    } while (std::next_permutation(std::begin(costs), std::end(costs)));
  }
}

// The second forward waits until the first one's result is asked for, at 6.
TEST(Simulate, AStageWaitsWhereTooManyOfItsMessagesAreUnderWay) {
  const Schedule schedule = parse_op_lists({"F0 F1 F2 B0 B1 B2", "F0 B0 F1 B1 F2 B2"}, {.micro_batches = 3});
  const OpTimes times = even_times({{1, 0.5, 0.5}, {4, 1, 1}}, schedule.map(), 1);
  EXPECT_DOUBLE_EQ(simulate(schedule, times).makespan, 1 + 3 * 6 + 1);
  EXPECT_DOUBLE_EQ(simulate(schedule, times, 1).makespan, 1 + 3 * 6 + 1);
  const OpTimes slow_first = even_times({{5, 0.5, 0.5}, {4, 1, 1}}, schedule.map(), 1);
  EXPECT_GT(simulate(schedule, slow_first, 1).makespan, simulate(schedule, slow_first).makespan);
  EXPECT_DOUBLE_EQ(simulate(schedule, slow_first, 2).makespan, simulate(schedule, slow_first).makespan);
}

TEST(Simulate, TakesForEverWhereTooFewMessagesMakeStagesWaitForEachOther) {
  const Schedule schedule =
      parse_op_lists({"F0 F1 F2 F3 B0 B1 B2 B3", "F0 F1 B0 B1 F2 F3 B2 B3"}, {.micro_batches = 4});
  const OpTimes times = uniform(schedule.map());
  EXPECT_EQ(simulate(schedule, times, 1).makespan, std::numeric_limits<double>::infinity());
  EXPECT_EQ(simulate(schedule, times, 2).makespan, simulate(schedule, times).makespan);
}

TEST(TimeOps, TellWhenEveryStageDoesWhat) {
  const ScheduleSpec spec{.stages = 2, .micro_batches = 1};
  const auto ops = time_ops(generate_schedule(spec), even_times({{1, 1, 1}, {2, 1, 1}}, spec.map(), 1, 0.5));
  ASSERT_EQ(ops.size(), 2U);
  ASSERT_EQ(ops[0].size(), 2U);
  EXPECT_EQ(ops[0][0].end, 1);
  EXPECT_EQ(ops[1][0].start, 1.5);
  EXPECT_EQ(ops[1][1].op.type, OpType::Backward);
  EXPECT_EQ(ops[1][1].end, 5.5);
  EXPECT_EQ(ops[0][1].start, 6);
  EXPECT_EQ(ops[0][1].end, 8);
}

}  // namespace
}  // namespace caravan::planner
