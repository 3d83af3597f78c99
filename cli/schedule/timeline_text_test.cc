#include "cli/schedule/timeline_text.h"

#include <gtest/gtest.h>

#include "cli/schedule/captions.h"
#include "planner/schedule/generate.h"

namespace caravan::cli {
namespace {

using planner::ScheduleKind;
using planner::ScheduleSpec;

std::string drawn(const ScheduleSpec& spec, const TimelineStyle& style) {
  const planner::OpTimes times =
      planner::even_times(std::vector<planner::PhaseTimes>(spec.stages), spec.map(), spec.segments);
  const planner::Schedule schedule = planner::generate_schedule(spec, times);
  return timeline_text(schedule, planner::time_ops(schedule, times), style);
}

TEST(TimelineText, NamesWhatHasRoomAndDotsWhatIsIdle) {
  EXPECT_EQ(drawn({.stages = 2, .micro_batches = 2}, {.width = 8 + 18}),
            "stage 0 F0F1....B0--..B1--\n"
            "stage 1 ..F0B0--F1B1--....\n");
}

TEST(TimelineText, ShowsTheTypeAloneWhereANameHasNoRoom) {
  EXPECT_EQ(drawn({.kind = ScheduleKind::ZeroBubbleH1, .stages = 2, .micro_batches = 2}, {.width = 8 + 7}),
            "stage 0 FF.BWBW\n"
            "stage 1 .FBFBWW\n");
}

TEST(TimelineText, RowsHaveTheWidthThatIsAskedForWhateverTheSizes) {
  for (const int stages : {1, 3, 12}) {
    for (const int width : {40, 80, 133}) {
      const std::string text = drawn({.stages = stages, .micro_batches = 7}, {.width = width});
      EXPECT_EQ(text.size(), static_cast<size_t>(stages * (width + 1)));
    }
  }
}

TEST(TimelineText, LeavesRoomForALaterEnd) {
  EXPECT_EQ(drawn({.stages = 1, .micro_batches = 1}, {.width = 8 + 12, .end = 6}), "stage 0 F0B0--......\n");
}

TEST(Title, CountsOneAsOne) {
  EXPECT_EQ(title_of({.stages = 1, .micro_batches = 1}), "1F1B: 1 stage, 1 micro-batch");
  EXPECT_EQ(title_of({.stages = 2, .micro_batches = 4}), "1F1B: 2 stages, 4 micro-batches");
}

TEST(TimelineText, ColoursTypesAndShadesOddChunks) {
  const ScheduleSpec spec{.kind = ScheduleKind::VHalf, .stages = 1, .micro_batches = 1, .chunks = 2};
  EXPECT_EQ(drawn(spec, {.width = 8 + 18, .colour = true}),
            "stage 0 \x1b[30;44mF0a\x1b[0m\x1b[30;104mF0b\x1b[0m\x1b[30;103mB0b\x1b[0m\x1b[30;102mW0b\x1b[0m"
            "\x1b[30;43mB0a\x1b[0m\x1b[30;42mW0a\x1b[0m\n");
}

}  // namespace
}  // namespace caravan::cli
