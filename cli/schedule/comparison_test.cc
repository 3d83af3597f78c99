#include "cli/schedule/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/schedule/generate.h"

namespace caravan::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A millisecond for each forward and for each half of a backward; messages between stages take half of one.
ExecutedSchedule with_slow_messages() {
  const planner::ScheduleSpec spec{.stages = 2, .micro_batches = 2};
  const planner::OpTimes times =
      planner::even_times(std::vector<planner::PhaseTimes>(2, {0.001, 0.001, 0.001}), spec.map(), 1, 0.0005);
  const planner::Schedule schedule = planner::generate_schedule(spec);
  return {.spec = spec, .step = 7, .schedule = schedule, .ops = planner::time_ops(schedule, times)};
}

TEST(Comparison, TellsWhatMessagesAddToTheBubble) {
  const Comparison comparison = compare(with_slow_messages());
  EXPECT_NEAR(comparison.simulated.performance.bubble, 0.003, 1e-9);
  EXPECT_NEAR(comparison.executed.performance.bubble, 0.004, 1e-9);
  EXPECT_NEAR(comparison.longer_bubble(), 0.001, 1e-9);
}

TEST(Comparison, AsTextHasBothTimelinesOnOneScale) {
  EXPECT_EQ(comparison_text(compare(with_slow_messages()), {.width = 8 + 20}),
            "1F1B: 2 stages, 2 micro-batches; step 7\n"
            "\n"
            "executed: 10 ms, bubble 4 ms (40.0 %)\n"
            "stage 0 F0F1......B0--..B1--\n"
            "stage 1 ...F0B0--F1B1--.....\n"
            "\n"
            "simulated with the mean times of the ops: 9 ms, bubble 3 ms (33.3 %)\n"
            "stage 0 F0F1....B0--..B1--..\n"
            "stage 1 ..F0B0--F1B1--......\n"
            "\n"
            "the executed bubble is 1 ms longer, 11.1 % of the simulated time\n"
            "F forward, B backward, dots idle; behind it the number of the micro-batch\n");
}

TEST(Comparison, AsAPictureHasBothTimelines) {
  const std::string picture = comparison_picture(compare(with_slow_messages()));
  EXPECT_THAT(picture, StartsWith("<svg"));
  EXPECT_THAT(picture, HasSubstr("<title>1F1B: 2 stages, 2 micro-batches; step 7"));
  EXPECT_THAT(picture, HasSubstr("executed: 10 ms, bubble 4 ms"));
  EXPECT_THAT(picture, HasSubstr("simulated with the mean times of the ops: 9 ms, bubble 3 ms"));
}

TEST(Comparison, AsJsonHasTheTimesOfEveryOp) {
  const std::string json = comparison_json(compare(with_slow_messages()));
  EXPECT_THAT(json,
              StartsWith(R"({"schedule":"1F1B","step":7,"executed":{"stages":[[{"op":"F0","start":0,)"));
  for (const char* part : {R"("simulated":{"stages":[[{"op":"F0")", R"("longerBubble":)", R"("peaks":[2,1])"})
    EXPECT_THAT(json, HasSubstr(part));
}

}  // namespace
}  // namespace caravan::cli
