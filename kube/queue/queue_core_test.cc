#include "kube/queue/queue_core.h"

#include <gtest/gtest.h>

namespace caravan::kube {
namespace {

using namespace std::chrono_literals;

constexpr Clock::TimePoint kNow{1h};
const ObjectKey kA{"s", "a"};
const ObjectKey kB{"s", "b"};

TEST(WorkQueue, AKeyNeverRunsTwiceAtOnceAndComesBackOnce) {
  QueueCore queue;
  queue.add(kA, Urgency::kLive, kNow);
  queue.add(kA, Urgency::kLive, kNow);
  EXPECT_EQ(queue.take(kNow), kA);
  queue.add(kA, Urgency::kLive, kNow);
  queue.add(kA, Urgency::kLive, kNow);
  EXPECT_FALSE(queue.take(kNow)) << "it still runs";
  queue.done(kA, kNow);
  EXPECT_EQ(queue.take(kNow), kA);
  queue.done(kA, kNow);
  EXPECT_FALSE(queue.take(kNow));
}

TEST(WorkQueue, AJobThatChangesAllTheTimeQueuesBehindTheOthers) {
  QueueCore queue;
  queue.add(kA, Urgency::kLive, kNow);
  queue.add(kB, Urgency::kLive, kNow);
  EXPECT_EQ(queue.take(kNow), kA);
  queue.add(kA, Urgency::kLive, kNow);
  queue.done(kA, kNow);
  EXPECT_EQ(queue.take(kNow), kB);
}

TEST(WorkQueue, TheEarliestTimeCounts) {
  QueueCore queue;
  queue.add_at(kA, kNow + 10s);
  queue.add_at(kA, kNow + 20s);
  EXPECT_EQ(queue.next_due(), kNow + 10s);
  queue.add_at(kA, kNow + 5s);
  EXPECT_FALSE(queue.take(kNow + 4s));
  EXPECT_EQ(queue.take(kNow + 5s), kA);
  queue.done(kA, kNow + 5s);
  EXPECT_FALSE(queue.take(kNow + 60s)) << "one time for a key, not three";
}

TEST(WorkQueue, AWaitingKeyDoesNotBlockTheOthers) {
  QueueCore queue;
  queue.add_at(kA, kNow + 1h);
  queue.add(kB, Urgency::kLive, kNow);
  EXPECT_EQ(queue.take(kNow), kB);
}

TEST(WorkQueue, AFailingKeyWaitsLongerEachTimeUntilItSucceeds) {
  QueueCore queue({.first_retry = 5ms, .longest_retry = 15ms});
  for (const auto expected : {5ms, 10ms, 15ms, 15ms}) {
    queue.retry(kA, kNow);
    EXPECT_EQ(queue.next_due(), kNow + expected);
    queue.take(kNow + expected);
    queue.done(kA, kNow + expected);
  }
  queue.forget(kA);
  queue.retry(kA, kNow);
  EXPECT_EQ(queue.next_due(), kNow + 5ms);
}

TEST(WorkQueue, StartUpDoesNotStarveLiveChangesNorTheReverse) {
  QueueCore queue({.live_per_background = 2});
  std::string order;
  for (int i = 0; i < 3; ++i) queue.add({"background", std::to_string(i)}, Urgency::kBackground, kNow);
  for (int i = 0; i < 6; ++i) queue.add({"live", std::to_string(i)}, Urgency::kLive, kNow);
  while (const auto key = queue.take(kNow)) order += key->name_space.front();
  EXPECT_EQ(order, "llbllbllb");
}

TEST(WorkQueue, ALiveChangeOvertakesTheSameKeyInTheBackground) {
  QueueCore queue;
  queue.add(kB, Urgency::kBackground, kNow);
  queue.add(kA, Urgency::kBackground, kNow);
  queue.add(kA, Urgency::kLive, kNow);
  EXPECT_EQ(queue.depth(), 2U);
  EXPECT_EQ(queue.take(kNow), kA);
  EXPECT_EQ(queue.take(kNow), kB);
}

TEST(WorkQueue, TellsHowLongTheOldestWaits) {
  QueueCore queue;
  EXPECT_EQ(queue.oldest_wait(kNow), 0s);
  queue.add(kA, Urgency::kBackground, kNow);
  queue.add(kB, Urgency::kLive, kNow + 2s);
  EXPECT_EQ(queue.oldest_wait(kNow + 3s), 3s);
  EXPECT_EQ(queue.take(kNow + 4s), kB);
  EXPECT_EQ(queue.waited(kB), 2s);
}

TEST(WorkQueue, TellsHowLongTheSlowestRuns) {
  QueueCore queue;
  queue.add(kA, Urgency::kLive, kNow);
  queue.add(kB, Urgency::kLive, kNow);
  EXPECT_EQ(queue.longest_run(kNow + 1h), 0s) << "none runs";
  EXPECT_EQ(queue.take(kNow + 1s), kA);
  EXPECT_EQ(queue.take(kNow + 2s), kB);
  EXPECT_EQ(queue.longest_run(kNow + 9s), 8s);
  queue.done(kA, kNow + 9s);
  EXPECT_EQ(queue.longest_run(kNow + 9s), 7s);
}

}  // namespace
}  // namespace caravan::kube
