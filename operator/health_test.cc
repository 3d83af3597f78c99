#include "operator/health.h"

#include <gtest/gtest.h>

namespace caravan::controller {
namespace {

using namespace std::chrono_literals;

TEST(Health, NothingHangsThatIsDoneInTime) {
  EXPECT_EQ(what_hangs({}), std::nullopt);
  EXPECT_EQ(what_hangs({.reconcile = 5min, .cache = 5min, .event = 5min, .review = 5min}), std::nullopt);
}

TEST(Health, SaysWhatHangs) {
  EXPECT_EQ(what_hangs({.election_gets_on = false}), "the election hangs");
  EXPECT_EQ(what_hangs({.reconcile = 301s}), "a reconcile hangs, by now for 301 s");
  EXPECT_EQ(what_hangs({.cache = 301s}), "a cache hangs, by now for 301 s");
  EXPECT_EQ(what_hangs({.event = 301s}), "the writer of events hangs, by now for 301 s");
  EXPECT_EQ(what_hangs({.review = 301s}), "a review of a token hangs, by now for 301 s");
}

}  // namespace
}  // namespace caravan::controller
