// That a reader who does not read stops who writes, and costs a bounded number of bytes.
#include "service/streams/stream_pipe.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "caravan/v1alpha1/job_service.pb.h"
#include "common/testing/manual_clock.h"

namespace caravan::service {
namespace {

v1alpha1::StreamLogsResponse message(std::size_t bytes) {
  v1alpha1::StreamLogsResponse made;
  made.set_data(std::string(bytes, 'x'));
  return made;
}

// The test's own time limit is the end of waiting.
void await(const std::function<bool()>& holds) {
  while (!holds()) std::this_thread::yield();
}

class StreamPipeTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kHalf = kMostPipeBytes / 2;

  caravan::testing::ManualClock clock_;
  std::atomic<int> news_ = 0;
  StreamPipe<v1alpha1::StreamLogsResponse> pipe_{clock_, [this] { ++news_; }};
  std::stop_source stop_;
  v1alpha1::StreamLogsResponse taken_;
};

TEST_F(StreamPipeTest, WaitsUntilThereIsRoom) {
  EXPECT_TRUE(pipe_.put(message(kHalf), {}));
  std::atomic<bool> is_put = false;
  std::jthread writer([&] {
    EXPECT_TRUE(pipe_.put(message(kHalf), {}));
    is_put = true;
  });
  clock_.await_sleeper(Clock::kNever - clock_.now());
  EXPECT_FALSE(is_put) << "with what surrounds the bytes it does not fit";
  EXPECT_TRUE(pipe_.next(taken_));
  await([&] { return is_put.load(); });
  EXPECT_TRUE(pipe_.next(taken_));
  EXPECT_EQ(taken_.data().size(), kHalf);
  EXPECT_FALSE(pipe_.next(taken_));
  EXPECT_EQ(news_, 2);
}

TEST_F(StreamPipeTest, TakesOneMessageOfAnySize) {
  EXPECT_TRUE(pipe_.put(message(2 * kMostPipeBytes), {}));
  EXPECT_TRUE(pipe_.next(taken_));
}

TEST_F(StreamPipeTest, GivesUpWhenNobodyReadsAnyMore) {
  EXPECT_TRUE(pipe_.put(message(kMostPipeBytes), {}));
  std::jthread writer([&] { EXPECT_FALSE(pipe_.put(message(1), stop_.get_token())); });
  stop_.request_stop();
  writer.join();
  EXPECT_FALSE(pipe_.drain(stop_.get_token()));
}

TEST_F(StreamPipeTest, IsDrainedWhenItsReaderAsksForMoreThanThereIs) {
  EXPECT_FALSE(pipe_.next(taken_));
  EXPECT_TRUE(pipe_.put(message(1), {}));
  std::atomic<bool> is_drained = false;
  std::jthread writer([&] { is_drained = pipe_.drain({}); });
  clock_.await_sleeper(Clock::kNever - clock_.now());
  EXPECT_TRUE(pipe_.next(taken_));
  EXPECT_FALSE(is_drained) << "the last message may still be on its way";
  EXPECT_FALSE(pipe_.next(taken_));
  await([&] { return is_drained.load(); });
}

}  // namespace
}  // namespace caravan::service
