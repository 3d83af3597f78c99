// How many streams there are at once, for all and for one, and that they end.
#include "service/streams/stream_threads.h"

#include <gtest/gtest.h>

#include <condition_variable>

namespace caravan::service {
namespace {

// Runs until it is asked to stop.
void last(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait(lock, stop, [] { return false; });
}

TEST(StreamThreads, AreSoManyForOneAndSoManyForAll) {
  StreamThreads threads({.of_all = 3, .of_one = 2});
  EXPECT_TRUE(threads.start("ada", {}, last));
  EXPECT_TRUE(threads.start("ada", {}, last));
  const auto third = threads.start("ada", {}, last);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, Code::kResourceExhausted);
  EXPECT_TRUE(threads.start("bob", {}, last));
  EXPECT_FALSE(threads.start("eve", {}, last));
}

TEST(StreamThreads, MakeRoomWhenTheirCallerGoes) {
  StreamThreads threads({.of_all = 1, .of_one = 1});
  std::stop_source caller;
  EXPECT_TRUE(threads.start("ada", caller.get_token(), last));
  caller.request_stop();
  while (!threads.start("bob", {}, last)) std::this_thread::yield();
}

}  // namespace
}  // namespace caravan::service
