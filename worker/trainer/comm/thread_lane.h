// A thread that does what it is given, one after the other.
//
// Ends with what it was given and has not begun; who destroys it waits for that.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <stop_token>
#include <thread>

namespace caravan::trainer {

class ThreadLane {
 public:
  // begin: run by the thread first.
  explicit ThreadLane(std::function<void()> begin = [] {});

  // Whoever gets the future gets what the work throws.
  std::shared_future<void> give(std::function<void()> work);

 private:
  void run(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any bell_;
  std::deque<std::packaged_task<void()>> tasks_;
  std::jthread thread_;
};

}  // namespace caravan::trainer
