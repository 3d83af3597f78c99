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

TEST(StreamThreads, AreSoManyForACallerANamespaceAndAll) {
  StreamThreads threads("logs", {.of_all = 4, .of_caller = 2, .of_namespace = 3});
  EXPECT_TRUE(threads.start({"ada", "s"}, {}, last));
  EXPECT_TRUE(threads.start({"ada", "s"}, {}, last));
  const auto third = threads.start({"ada", "t"}, {}, last);
  ASSERT_FALSE(third) << "in whatever namespace";
  EXPECT_EQ(third.error().code, Code::kResourceExhausted);
  EXPECT_EQ(third.error().message, "ada reads 2 logs at once, and may not read more");
  EXPECT_TRUE(threads.start({"bob", "s"}, {}, last));
  EXPECT_FALSE(threads.start({"eve", "s"}, {}, last)) << "whoever it is";
  EXPECT_TRUE(threads.start({"eve", "t"}, {}, last));
  EXPECT_FALSE(threads.start({"fay", "u"}, {}, last));
}

TEST(StreamThreads, MakeRoomWhenTheirCallerGoes) {
  StreamThreads threads("logs", {.of_all = 1});
  std::stop_source caller;
  EXPECT_TRUE(threads.start({"ada", "s"}, caller.get_token(), last));
  caller.request_stop();
  while (!threads.start({"bob", "s"}, {}, last)) std::this_thread::yield();
}

}  // namespace
}  // namespace caravan::service
