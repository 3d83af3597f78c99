#include "planner/schedule/makespan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace caravan::planner {
namespace {

struct Pipeline {
  std::vector<StageTimes> times;
  double transfer = 0;
};

Pipeline random_pipeline(std::mt19937& dice, int stages) {
  const auto time = [&] { return 0.5 + static_cast<double>(dice() % 1000) / 500; };
  Pipeline pipeline{.times = {}, .transfer = static_cast<double>(dice() % 3) / 10};
  for (int stage = 0; stage < stages; ++stage) pipeline.times.push_back({time(), time(), time()});
  return pipeline;
}

double simulated(ScheduleKind kind, int chunks, const Pipeline& pipeline, int micro_batches) {
  const auto stages = static_cast<int>(pipeline.times.size());
  return simulate(generate_schedule(kind, stages, micro_batches, chunks), pipeline.times, pipeline.transfer)
      .makespan;
}

TEST(Makespan, IsWhatTheSimulatorFindsForAnyTimesOfTheStages) {
  std::mt19937 dice(1);
  for (int stages = 1; stages <= 9; ++stages) {
    for (int micro_batches = 1; micro_batches <= 3 * stages; ++micro_batches) {
      const Pipeline pipeline = random_pipeline(dice, stages);
      for (const ScheduleKind kind : {ScheduleKind::GPipe, ScheduleKind::OneFOneB}) {
        EXPECT_NEAR(makespan(kind, 1, pipeline.times, pipeline.transfer, micro_batches),
                    simulated(kind, 1, pipeline, micro_batches), 1e-9)
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
    for (StageTimes& stage : played_back.times)
      stage = {.forward = stage.backward_input + stage.backward_weight,
               .backward_input = stage.forward,
               .backward_weight = 0};
    for (const ScheduleKind kind : {ScheduleKind::GPipe, ScheduleKind::OneFOneB}) {
      for (const int micro_batches : {1, stages, 2 * stages + 1}) {
        EXPECT_NEAR(makespan(kind, 1, played_back.times, pipeline.transfer, micro_batches),
                    makespan(kind, 1, pipeline.times, pipeline.transfer, micro_batches), 1e-9)
            << schedule_name(kind) << " p=" << stages << " m=" << micro_batches;
      }
    }
  }
}

TEST(Makespan, OfGPipeIsExactForLongSteps) {
  std::mt19937 dice(2);
  const Pipeline pipeline = random_pipeline(dice, 5);
  EXPECT_NEAR(makespan(ScheduleKind::GPipe, 1, pipeline.times, pipeline.transfer, 200),
              simulated(ScheduleKind::GPipe, 1, pipeline, 200), 1e-9);
}

// What planning meets: layers split as evenly as they go, a head on the last stage.
TEST(Makespan, ExtrapolatesLongStepsWithinAPercent) {
  for (const int chunks : {1, 2}) {
    const ScheduleKind kind = chunks == 1 ? ScheduleKind::OneFOneB : ScheduleKind::Interleaved;
    for (const double head : {0.0, 1.0, 3.0}) {
      for (const double transfer : {0.0, 0.1}) {
        Pipeline pipeline{.times = {}, .transfer = transfer};
        for (const double layers : {4, 5, 5, 4, 5, 4}) pipeline.times.push_back({layers, layers, layers});
        pipeline.times.back().forward += head;
        const double exact = simulated(kind, chunks, pipeline, 120);
        EXPECT_NEAR(makespan(kind, chunks, pipeline.times, transfer, 120), exact, 0.01 * exact)
            << "v=" << chunks << " head " << head << " transfer " << transfer;
      }
    }
  }
}

TEST(Makespan, IsNeverLessThanTheWorkOfAnyStage) {
  std::mt19937 dice(3);
  for (int round = 0; round < 50; ++round) {
    const Pipeline pipeline = random_pipeline(dice, 6);
    for (const int micro_batches : {6, 30, 600}) {
      for (const int chunks : {1, 3}) {
        const ScheduleKind kind = chunks == 1 ? ScheduleKind::OneFOneB : ScheduleKind::Interleaved;
        const double slowest = std::ranges::max(pipeline.times, {}, &StageTimes::total).total();
        EXPECT_GE(makespan(kind, chunks, pipeline.times, pipeline.transfer, micro_batches) * (1 + 1e-12),
                  micro_batches * slowest);
      }
    }
  }
}

}  // namespace
}  // namespace caravan::planner
