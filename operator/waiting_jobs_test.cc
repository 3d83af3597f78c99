// Behind whom a gang asks for its machines again.
#include "operator/waiting_jobs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace caravan::controller::testing {
namespace {

std::string at_minute(int minute) {
  return fmt::format("2030-01-01T00:{:02}:00Z", minute);
}

TEST(WaitingJobs, TheOlderOnesOfTheNamespaceGoFirst) {
  WaitingJobs waiting;
  for (const int minute : {3, 1, 2}) waiting.insert(at_minute(minute), {"train", fmt::format("j{}", minute)});
  EXPECT_EQ(waiting.ahead_of(at_minute(1), {"train", "j1"}), 0);
  EXPECT_EQ(waiting.ahead_of(at_minute(3), {"train", "j3"}), 2);
  EXPECT_EQ(waiting.ahead_of(at_minute(2), {"train", "a"}), 1) << "it does not wait itself";
  waiting.erase(at_minute(1), {"train", "j1"});
  EXPECT_EQ(waiting.ahead_of(at_minute(3), {"train", "j3"}), 1);
}

TEST(WaitingJobs, AnotherNamespaceCountsOnceHoweverManyItsJobsAre) {
  WaitingJobs waiting;
  for (int minute = 0; minute < 40; ++minute)
    waiting.insert(at_minute(minute), {"loud", fmt::format("j{}", minute)});
  waiting.insert(at_minute(40), {"quiet", "first"});
  waiting.insert(at_minute(41), {"train", "own"});
  waiting.insert(at_minute(42), {"train", "mine"});
  const auto ahead = [&] { return waiting.ahead_of(at_minute(42), {"train", "mine"}); };
  EXPECT_EQ(ahead(), 3);
  for (int minute = 0; minute < 39; ++minute)
    waiting.erase(at_minute(minute), {"loud", fmt::format("j{}", minute)});
  EXPECT_EQ(ahead(), 3) << "one is left there";
  waiting.erase(at_minute(39), {"loud", "j39"});
  EXPECT_EQ(ahead(), 2);
  waiting.erase(at_minute(39), {"loud", "j39"});
  waiting.erase(at_minute(0), {"nobody", "j"});
  EXPECT_EQ(ahead(), 2);
}

TEST(WaitingJobs, MoreThanAFewAreAFew) {
  WaitingJobs waiting;
  for (int minute = 0; minute < 40; ++minute)
    waiting.insert(at_minute(minute), {fmt::format("n{}", minute), "job"});
  EXPECT_EQ(waiting.ahead_of(at_minute(59), {"train", "mine"}), 16);
}

}  // namespace
}  // namespace caravan::controller::testing
