#include "planner/schedule/makespan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "planner/schedule/generate.h"
#include "planner/schedule/simulate.h"

namespace caravan::planner {
namespace {

struct Pipeline {
  std::vector<PhaseTimes> times;
  double transfer = 0;
};

Pipeline random_pipeline(std::mt19937& dice, int stages) {
  const auto time = [&] { return 0.5 + static_cast<double>(dice() % 1000) / 500; };
  Pipeline pipeline{.times = {}, .transfer = static_cast<double>(dice() % 3) / 10};
  for (int stage = 0; stage < stages; ++stage) pipeline.times.push_back({time(), time(), time()});
  return pipeline;
}

double simulated(const ScheduleSpec& spec, const Pipeline& pipeline) {
  const OpTimes times = even_times(pipeline.times, spec.map(), spec.segments, pipeline.transfer);
  const Schedule schedule = generate_schedule(spec, times);
  return validates_afterwards(spec.kind) ? period(schedule, times, messages_under_way(spec.kind))
                                         : simulate(schedule, times).makespan;
}

double predicted(const ScheduleSpec& spec, const Pipeline& pipeline) {
  return makespan(spec, even_times(pipeline.times, spec.map(), spec.segments, pipeline.transfer));
}

TEST(Makespan, IsWhatTheSimulatorFindsForAnyTimesOfTheStages) {
  std::mt19937 dice(1);
  for (int stages = 1; stages <= 9; ++stages) {
    for (int micro_batches = 1; micro_batches <= 3 * stages; ++micro_batches) {
      const Pipeline pipeline = random_pipeline(dice, stages);
      for (const ScheduleKind kind : {ScheduleKind::GPipe, ScheduleKind::OneFOneB}) {
        const ScheduleSpec spec{.kind = kind, .stages = stages, .micro_batches = micro_batches};
        EXPECT_NEAR(predicted(spec, pipeline), simulated(spec, pipeline), 1e-9)
            << schedule_name(kind) << " p=" << stages << " m=" << micro_batches;
      }
    }
  }
}

// Played backwards, every backward is a forward.
TEST(Makespan, IsTheSameForAPipelinePlayedBackwards) {
  std::mt19937 dice(4);
  for (int stages = 1; stages <= 8; ++stages) {
    const Pipeline pipeline = random_pipeline(dice, stages);
    Pipeline played_back = pipeline;
    for (PhaseTimes& stage : played_back.times)
      stage = {.forward = stage.backward_input + stage.backward_weight,
               .backward_input = stage.forward,
               .backward_weight = 0};
    for (const ScheduleKind kind : {ScheduleKind::GPipe, ScheduleKind::OneFOneB}) {
      for (const int micro_batches : {1, stages, 2 * stages + 1}) {
        const ScheduleSpec spec{.kind = kind, .stages = stages, .micro_batches = micro_batches};
        EXPECT_NEAR(predicted(spec, played_back), predicted(spec, pipeline), 1e-9)
            << schedule_name(kind) << " p=" << stages << " m=" << micro_batches;
      }
    }
  }
}

TEST(Makespan, OfGPipeIsExactForLongSteps) {
  std::mt19937 dice(2);
  const Pipeline pipeline = random_pipeline(dice, 5);
  const ScheduleSpec spec{.kind = ScheduleKind::GPipe, .stages = 5, .micro_batches = 200};
  EXPECT_NEAR(predicted(spec, pipeline), simulated(spec, pipeline), 1e-9);
}

// What planning meets: layers split as evenly as they go, a head on the last stage. For a longer step another
// building block may be the best one.
TEST(Makespan, ExtrapolatesLongStepsWithinAPercentOrTwo) {
  for (ScheduleSpec spec :
       {ScheduleSpec{}, ScheduleSpec{.kind = ScheduleKind::Interleaved, .chunks = 2},
        ScheduleSpec{.kind = ScheduleKind::ZeroBubbleH1}, ScheduleSpec{.kind = ScheduleKind::ZeroBubbleH2},
        ScheduleSpec{.kind = ScheduleKind::VHalf, .chunks = 2},
        ScheduleSpec{.kind = ScheduleKind::VZeroBubble, .chunks = 2},
        ScheduleSpec{.kind = ScheduleKind::Seq1F1B, .segments = 4},
        ScheduleSpec{.kind = ScheduleKind::SeqZeroBubble, .segments = 8}}) {
    spec.stages = 6;
    spec.micro_batches = 120;
    for (const double head : {0.0, 1.0, 3.0}) {
      for (const double transfer : {0.0, 0.1}) {
        Pipeline pipeline{.times = {}, .transfer = transfer};
        for (const double layers : {4, 5, 5, 4, 5, 4}) pipeline.times.push_back({layers, layers, layers});
        pipeline.times.back().forward += head;
        const double exact = simulated(spec, pipeline);
        const double allowed = has_fixed_order(spec.kind) ? 0.01 : 0.02;
        EXPECT_NEAR(predicted(spec, pipeline), exact, allowed * exact)
            << schedule_name(spec.kind) << " head " << head << " transfer " << transfer;
      }
    }
  }
}

// Their ops would take an operator's memory.
TEST(Makespan, OfTooManyOpsIsEstimatedWithoutTheirList) {
  const Pipeline pipeline{.times = std::vector<PhaseTimes>(128, {1, 1, 1})};
  const ScheduleSpec spec{
      .kind = ScheduleKind::Interleaved, .stages = 128, .micro_batches = 256, .chunks = 8};
  EXPECT_NEAR(predicted(spec, pipeline), 3 * (256 + 127.0 / 8), 1e-6);
  EXPECT_NEAR(predicted(spec, pipeline), simulated(spec, pipeline), 1e-6);
}

TEST(Makespan, IsNeverLessThanTheWorkOfAnyStage) {
  std::mt19937 dice(3);
  for (int round = 0; round < 50; ++round) {
    const Pipeline pipeline = random_pipeline(dice, 6);
    for (const int micro_batches : {6, 30, 600}) {
      const std::vector<std::pair<ScheduleKind, int>> kinds = {{ScheduleKind::OneFOneB, 1},
                                                               {ScheduleKind::Interleaved, 3},
                                                               {ScheduleKind::ZeroBubbleH2, 1},
                                                               {ScheduleKind::VZeroBubble, 2}};
      for (const auto& [kind, chunks] : kinds) {
        const double slowest = std::ranges::max(pipeline.times, {}, &PhaseTimes::total).total();
        const ScheduleSpec spec{.kind = kind, .stages = 6, .micro_batches = micro_batches, .chunks = chunks};
        EXPECT_GE(predicted(spec, pipeline) * (1 + 1e-12), micro_batches * slowest) << schedule_name(kind);
      }
    }
  }
}

}  // namespace
}  // namespace caravan::planner
