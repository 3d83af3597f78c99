// Between whoever reads a log and a stream whose reader may be slow: it holds so many bytes, and who reads
// the log waits until there is room again, so that the API server is read no faster than the stream is. Safe
// for any thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include "caravan/v1alpha1/job_service.pb.h"
#include "common/clock.h"

namespace caravan::service {

class LogPipe {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{256} << 10;

  // news: that next() has something; it may call that.
  LogPipe(Clock& clock, std::function<void()> news) : clock_(clock), news_(std::move(news)) {}

  // Both wait, and return false when a stop was requested before.
  bool put(v1alpha1::StreamLogsResponse message, const std::stop_token& stop);
  // Until next() has been asked for more than there is: all has been taken.
  bool drain(const std::stop_token& stop);

  // The next message; false: there is none now.
  bool next(v1alpha1::StreamLogsResponse& into);

 private:
  bool wait(std::unique_lock<std::mutex>& lock, const std::stop_token& stop,
            const std::function<bool()>& ready);

  Clock& clock_;
  const std::function<void()> news_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<v1alpha1::StreamLogsResponse> messages_;
  std::size_t bytes_ = 0;  // of all messages
  bool is_asked_for_more_ = false;
};

}  // namespace caravan::service
