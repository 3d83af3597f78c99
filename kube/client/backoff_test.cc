#include "kube/client/backoff.h"

#include <gtest/gtest.h>

#include "kube/client/retry.h"

namespace caravan::kube {
namespace {

using namespace std::chrono_literals;

constexpr Clock::TimePoint kStart{1h};

TEST(Backoff, DoublesUpToTheLongestWait) {
  Backoff backoff({.first = 800ms, .longest = 30s});
  std::vector<std::chrono::milliseconds> waits;
  for (int i = 0; i < 8; ++i) waits.push_back(backoff.after_failure(kStart, 1.0));
  EXPECT_EQ(waits, (std::vector<std::chrono::milliseconds>{800ms, 1600ms, 3200ms, 6400ms, 12800ms, 25600ms,
                                                           30s, 30s}));
}

TEST(Backoff, JitterCoversTheWholeRangeAndNeverSpins) {
  EXPECT_EQ(jittered(800ms, 0.0), 1ms);
  EXPECT_EQ(jittered(800ms, 0.5), 400ms);
}

TEST(Backoff, AnyNumberOfFailuresStaysAtTheLongestWait) {
  Backoff backoff({.first = 800ms, .longest = 30s});
  for (int i = 0; i < 100'000; ++i) backoff.after_failure(kStart, 1.0);
  EXPECT_EQ(backoff.after_failure(kStart, 1.0), 30s);
}

TEST(Backoff, StartsAgainOnlyAfterAQuietTime) {
  Backoff backoff({.first = 1s, .longest = 30s, .quiet_resets = 120s});
  backoff.after_failure(kStart, 1.0);
  EXPECT_EQ(backoff.after_failure(kStart + 1s + 119s, 1.0), 2s);
  EXPECT_EQ(backoff.after_failure(kStart + 120s + 2s + 120s, 1.0), 1s);
}

struct RetryCase {
  const char* what;
  ApiError error;
  Repeatable repeatable;
  bool retried;
};

TEST(Retry, DependsOnWhetherTheServerMayHaveActed) {
  const ApiError throttled{.code = 429};
  const ApiError overloaded{.code = 503};
  const ApiError overloaded_says_when{.code = 503, .retry_after = 1s};
  const ApiError broken{.kind = ErrorKind::kBroken};
  const ApiError unreachable{.kind = ErrorKind::kUnreachable};
  const ApiError behind{.message = "Too large resource version", .code = 504};
  const std::vector<RetryCase> cases{
      {"429", throttled, Repeatable::kOnlyWhenRefused, true},
      {"503 to a create", overloaded, Repeatable::kOnlyWhenRefused, false},
      {"503 with Retry-After to a create", overloaded_says_when, Repeatable::kOnlyWhenRefused, true},
      {"503 to a read", overloaded, Repeatable::kYes, true},
      {"504 to a read", {.code = 504}, Repeatable::kYes, true},
      {"504 of a server that is behind", behind, Repeatable::kYes, false},
      {"500", {.code = 500}, Repeatable::kYes, false},
      {"404", {.code = 404}, Repeatable::kYes, false},
      {"broken read", broken, Repeatable::kYes, true},
      {"broken create", broken, Repeatable::kOnlyWhenRefused, false},
      {"unreachable", unreachable, Repeatable::kOnlyWhenRefused, true},
      {"a certificate that is not good", {.kind = ErrorKind::kUntrusted}, Repeatable::kYes, false},
      {"no credentials", {.kind = ErrorKind::kNoCredentials}, Repeatable::kYes, false},
      {"time-out", {.kind = ErrorKind::kTimeout}, Repeatable::kYes, false},
      {"stop", {.kind = ErrorKind::kStopped}, Repeatable::kYes, false},
  };
  for (const RetryCase& c : cases) {
    EXPECT_EQ(wait_before_retry({}, c.error, c.repeatable, 1, 0.5).has_value(), c.retried) << c.what;
  }
}

TEST(Retry, ObeysRetryAfterToTheLetter) {
  EXPECT_EQ(wait_before_retry({}, {.code = 429, .retry_after = 17s}, Repeatable::kYes, 3, 0.1), 17s);
}

TEST(Retry, GivesUpAfterTheLastTry) {
  EXPECT_TRUE(wait_before_retry({.tries = 15}, {.code = 429}, Repeatable::kYes, 14, 0.5));
  EXPECT_FALSE(wait_before_retry({.tries = 15}, {.code = 429}, Repeatable::kYes, 15, 0.5));
}

}  // namespace
}  // namespace caravan::kube
