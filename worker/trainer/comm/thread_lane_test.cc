#include "worker/trainer/comm/thread_lane.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace caravan::trainer {
namespace {

TEST(ThreadLane, DoesOneAfterTheOtherWhatItIsGiven) {
  std::vector<int> order = {0};
  std::shared_future<void> last;
  ThreadLane lane([&order] { order.push_back(1); });
  for (int i = 2; i < 1000; ++i) last = lane.give([&order, i] { order.push_back(i); });
  last.get();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(order[i], i);
}

TEST(ThreadLane, TellsWhoeverWaitsWhatWentWrongAndGoesOn) {
  ThreadLane lane;
  const auto bad = lane.give([] { throw std::runtime_error("lost"); });
  const auto good = lane.give([] {});
  EXPECT_THROW(bad.get(), std::runtime_error);
  EXPECT_NO_THROW(good.get());
}

TEST(ThreadLane, EndsWithWhatItWasGiven) {
  int done = 0;
  {
    ThreadLane lane;
    for (int i = 0; i < 100; ++i) lane.give([&done] { ++done; });
  }
  EXPECT_EQ(done, 100);
}

}  // namespace
}  // namespace caravan::trainer
