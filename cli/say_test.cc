#include "cli/say.h"

#include <gtest/gtest.h>

namespace caravan::cli {
namespace {

TEST(Say, LeavesOutWhatMovesTheCursor) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  say("job {} is {}\n", "tiny", "\x1b[2JRunning\r\x07");
  say(stderr, "{}\n", "no\xC2\x9Bt here");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "job tiny is [2JRunning\n");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "not here\n");
}

}  // namespace
}  // namespace caravan::cli
