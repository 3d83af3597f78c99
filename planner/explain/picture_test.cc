#include "planner/explain/picture.h"

#include <gmock/gmock.h>

#include "planner/explain/schedule_picture.h"
#include "planner/explain/svg.h"
#include "planner/schedule/generate.h"
#include "planner/testing/jobs.h"

namespace caravan::planner {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string draw(const v1alpha1::JobSpec& spec) {
  const auto picture = draw_plan(spec, {}, default_profile());
  EXPECT_TRUE(picture) << picture.error().message;
  return picture.value_or("");
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

v1alpha1::JobSpec pipeline_of(int stages) {
  v1alpha1::JobSpec spec = gpu_job("llama3.1-405b", 8 * stages, "B200");
  spec.mutable_parallelism()->set_tensor(8);
  spec.mutable_parallelism()->set_pipeline(stages);
  spec.mutable_parallelism()->set_schedule("1F1B");
  return spec;
}

TEST(DrawSchedule, HasAColourForEachTypeOfOpAndALighterOneForEverySecondChunk) {
  const ScheduleSpec spec{.kind = ScheduleKind::VHalf, .stages = 2, .micro_batches = 3, .chunks = 2};
  const OpTimes times = even_times(std::vector<PhaseTimes>(2), spec.map(), 1);
  const auto draw = [&](const ScheduleSpec& drawn) {
    return draw_schedule("a title", "and more", time_ops(generate_schedule(drawn, times), times));
  };
  const std::string picture = draw(spec);
  for (const char* part : {"a title", "and more", "gradients of weights", "lighter: every second chunk",
                           "#4e79a7", "#9fbad6", "#f28e2b", "#f9c48c", "#59a14f", "#a5cf9f"})
    EXPECT_THAT(picture, HasSubstr(part));
  const std::string plain = draw({.stages = 2, .micro_batches = 3});
  EXPECT_THAT(plain, Not(HasSubstr("gradients of weights")));
  EXPECT_THAT(plain, Not(HasSubstr("lighter")));
}

TEST(DrawComparison, HasTheTimelinesBelowEachOtherOnOneScale) {
  const ScheduleSpec spec{.stages = 2, .micro_batches = 3};
  const auto ops = [&](double seconds) {
    const PhaseTimes each{.forward = seconds, .backward_input = seconds, .backward_weight = seconds};
    const OpTimes times = even_times({each, each}, spec.map(), 1);
    return time_ops(generate_schedule(spec), times);
  };
  const std::string picture = draw_comparison("a title", {{"slow", ops(2)}, {"fast", ops(1)}});
  for (const char* part : {"a title", ">slow</text>", ">fast</text>"}) EXPECT_THAT(picture, HasSubstr(part));
  EXPECT_EQ(count(picture, ">stage 1</text>"), 2U);
  EXPECT_EQ(count(picture, ">20 s</text>"), 2U) << "24 s, also below the one that took 12 s";
}

TEST(Svg, EscapesWhatXmlReserves) {
  Svg svg;
  svg.text(1, 2, "a<b&c>");
  EXPECT_THAT(svg.document(10, 10, "x<y"), HasSubstr(">a&lt;b&amp;c&gt;</text>"));
  EXPECT_THAT(svg.document(10, 10, "x<y"), HasSubstr("<title>x&lt;y</title>"));
}

TEST(Svg, TicksStandAtRoundNumbers) {
  EXPECT_DOUBLE_EQ(tick_distance(80, 8), 10);
  EXPECT_DOUBLE_EQ(tick_distance(81, 8), 20);
  EXPECT_DOUBLE_EQ(tick_distance(0.3, 8), 0.05);
}

TEST(DrawPlan, HasARowOfOpsAndABarForEveryStage) {
  for (const int stages : {8, 16, 32}) {
    const std::string picture = draw(pipeline_of(stages));
    EXPECT_EQ(count(picture, "<path "), 2U * stages) << stages;
    EXPECT_THAT(picture, HasSubstr(">stage 0</text>"));
    EXPECT_THAT(picture, HasSubstr(">activations</text>"));
    EXPECT_THAT(picture, HasSubstr(">limit "));
    EXPECT_THAT(picture, HasSubstr("TP8 PP" + std::to_string(stages)));
  }
}

TEST(DrawPlan, WithoutSecondsHasNoTimeAxis) {
  const std::string picture = draw(cpu_job("llama-mini", 2));
  EXPECT_THAT(picture, Not(HasSubstr(" s</text>")));
  EXPECT_THAT(picture, HasSubstr(">forward</text>"));
}

TEST(DrawPlan, DrawsNothingWhereNothingFits) {
  const auto picture = draw_plan(gpu_job("llama3-70b", 1), {}, default_profile());
  ASSERT_FALSE(picture);
  EXPECT_EQ(picture.error().code, ExitCode::kDoesNotFit);
}

}  // namespace
}  // namespace caravan::planner
