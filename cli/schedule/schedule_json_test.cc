#include "cli/schedule/schedule_json.h"

#include <gtest/gtest.h>

#include "planner/schedule/generate.h"

namespace caravan::cli {
namespace {

using planner::ScheduleKind;
using planner::ScheduleSpec;

std::string json_of(const ScheduleSpec& spec) {
  const planner::OpTimes times =
      planner::even_times(std::vector<planner::PhaseTimes>(spec.stages), spec.map(), spec.segments);
  const planner::Schedule schedule = planner::generate_schedule(spec, times);
  return schedule_json(schedule, planner::simulate(schedule, times));
}

TEST(ScheduleJson, HasTheOpsOfEveryStageAndHowTheyPerform) {
  EXPECT_EQ(json_of({.stages = 2, .micro_batches = 2}),
            R"({"stages":[["F0","F1","B0","B1"],["F0","B0","F1","B1"]],)"
            R"("makespan":9,"bubble":3,"spanBubble":3,"peaks":[2,1]})");
}

TEST(ScheduleJson, NamesSegmentsAndChunksWhereThereAreSome) {
  EXPECT_NE(json_of({.kind = ScheduleKind::Seq1F1B, .micro_batches = 1, .segments = 2})
                .find(R"(["F0.0","F0.1","B0.1","B0.0"])"),
            std::string::npos);
  EXPECT_NE(json_of({.kind = ScheduleKind::VMin, .micro_batches = 1, .chunks = 2}).find(R"("F0b")"),
            std::string::npos);
}

}  // namespace
}  // namespace caravan::cli
