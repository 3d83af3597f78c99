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

TEST(WorkQueue, AThousandJobsOfOneTenantDoNotGoBeforeOneOfAnother) {
  for (const Urgency urgency : {Urgency::kLive, Urgency::kBackground}) {
    QueueCore queue;
    for (int i = 0; i < 1000; ++i) queue.add({"greedy", std::to_string(i)}, urgency, kNow);
    queue.add({"modest", "a"}, urgency, kNow);
    queue.add({"patient", "a"}, urgency, kNow);
    EXPECT_EQ(queue.take(kNow), (ObjectKey{"greedy", "0"}));
    EXPECT_EQ(queue.take(kNow), (ObjectKey{"modest", "a"}));
    EXPECT_EQ(queue.take(kNow), (ObjectKey{"patient", "a"}));
    EXPECT_EQ(queue.take(kNow), (ObjectKey{"greedy", "1"}));
  }
}

TEST(WorkQueue, WhoComesLaterHasTheNextTurnButThoseThatWaitAlready) {
  QueueCore queue;
  for (const char* name : {"0", "1", "2"}) queue.add({"a", name}, Urgency::kLive, kNow);
  for (const char* name : {"0", "1", "2"}) queue.add({"b", name}, Urgency::kLive, kNow);
  std::string order;
  for (int taken = 0; const auto key = queue.take(kNow); ++taken) {
    order += key->name_space + key->name + " ";
    if (taken == 1) queue.add({"c", "0"}, Urgency::kLive, kNow);
  }
  EXPECT_EQ(order, "a0 b0 a1 b1 c0 a2 b2 ");
}

TEST(WorkQueue, ANamespaceHasItsShareOfTheWorkersWhileAnotherWaits) {
  QueueCore queue({.share_of_a_namespace = 2});
  for (const char* name : {"0", "1", "2", "3"}) queue.add({"greedy", name}, Urgency::kLive, kNow);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(queue.take(kNow)->name_space, "greedy") << "nobody else waits";
  for (const char* name : {"0", "1", "2"}) queue.add({"modest", name}, Urgency::kBackground, kNow);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(queue.take(kNow)->name_space, "modest");
  EXPECT_EQ(queue.take(kNow)->name_space, "greedy") << "both have their share: no worker stands idle";
  queue.done({"modest", "0"}, kNow);
  EXPECT_EQ(queue.take(kNow), (ObjectKey{"modest", "2"}));
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
