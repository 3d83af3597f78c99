#include "serving/task_pool.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <latch>

#include "common/testing/manual_clock.h"

namespace caravan {
namespace {

// However many peers flood it.
TEST(TaskPool, WhoHasNothingInTheQueueFindsAPlace) {
  testing::ManualClock clock;
  std::latch gate(1);  // both outlive the pool, whose first task uses them
  std::latch under_way(1);
  TaskPool pool(clock, {.threads = 1, .waiting = 8, .waiting_in_all = 12, .waiting_of_one_peer = 4});
  ASSERT_TRUE(pool.post({"first"}, [&](const std::stop_token&) {
    under_way.count_down();
    gate.wait();
  }));
  under_way.wait();
  const auto post = [&](const std::string& peer) { return pool.post({peer}, [](const std::stop_token&) {}); };
  for (const char* peer : {"a", "b"}) {
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(post(peer)) << peer;
  }
  EXPECT_FALSE(post("a"));
  EXPECT_TRUE(post("newcomer")) << "the queue of the others is full";
  EXPECT_FALSE(post("newcomer")) << "it has one";
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(post(fmt::format("other-{}", i)));
  EXPECT_FALSE(post("late")) << "there is a bound for all";
  gate.count_down();
}

// However many peers it has.
TEST(TaskPool, AGroupHasHalfOfTheThreadsAndOfTheQueue) {
  testing::ManualClock clock;
  std::latch gate(1);
  std::latch under_way(2);
  std::latch of_another(1);
  TaskPool pool(clock, {.threads = 4, .waiting = 8});
  const auto waits = [&](const std::stop_token&) {
    under_way.count_down();
    gate.wait();
  };
  for (const char* peer : {"a", "b"}) ASSERT_TRUE(pool.post({peer, "group"}, waits));
  under_way.wait();
  const auto nothing = [](const std::stop_token&) {};
  for (const char* peer : {"c", "d", "e", "f"}) EXPECT_TRUE(pool.post({peer, "group"}, nothing)) << peer;
  EXPECT_FALSE(pool.post({"g", "group"}, nothing));
  EXPECT_TRUE(pool.post({"another"}, [&](const std::stop_token&) { of_another.count_down(); }));
  of_another.wait();  // a thread was left
  gate.count_down();
}

}  // namespace
}  // namespace caravan
