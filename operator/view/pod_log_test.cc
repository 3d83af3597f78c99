#include "operator/view/pod_log.h"

#include <gtest/gtest.h>

namespace caravan::controller {
namespace {

TEST(PodLog, KnowsTheTimeThatTheServerGivesALine) {
  const StampedLine line =
      stamped("2026-01-01T00:00:00.000000001Z 2026-01-01T00:00:00.000 info agent-0: hello");
  EXPECT_EQ(line.time, "2026-01-01T00:00:00.000000001Z");
  EXPECT_EQ(line.text, "2026-01-01T00:00:00.000 info agent-0: hello");
  EXPECT_EQ(stamped("caravan-agent: no such file").text, "caravan-agent: no such file");
}

TEST(PodLog, ATimeInWholeSecondsKeepsItsZone) {
  EXPECT_EQ(in_whole_seconds("2026-01-01T00:00:02.123456789Z"), "2026-01-01T00:00:02Z");
  EXPECT_EQ(in_whole_seconds("2026-01-01T00:00:02.123456789+02:00"), "2026-01-01T00:00:02+02:00");
  EXPECT_EQ(in_whole_seconds("2026-01-01T00:00:02-07:00"), "2026-01-01T00:00:02-07:00");
}

TEST(PodLog, GivesARankItsOwnLines) {
  EXPECT_EQ(text_of_rank("2026-01-01T00:00:00.000 info agent-1: rank 3: hello: world", 3), "hello: world");
  EXPECT_EQ(text_of_rank("2026-01-01T00:00:00.000 info agent-1: rank 31: hello", 3), std::nullopt);
  EXPECT_EQ(text_of_rank("2026-01-01T00:00:00.000 info agent-1: step 3/4", 3), std::nullopt);
}

}  // namespace
}  // namespace caravan::controller
