// Between whoever reads for a stream and the stream, whose reader may be slow: it holds so many bytes, and
// who reads waits until there is room again, so that nothing is read faster than the stream is. Safe for any
// thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "common/clock.h"

namespace caravan::service {

inline constexpr std::size_t kMostPipeBytes = std::size_t{256} << 10;

template <typename Message>
class StreamPipe {
 public:
  // news: that next() has something; it may call that.
  StreamPipe(Clock& clock, std::function<void()> news) : clock_(clock), news_(std::move(news)) {}

  // Both wait, and return false when a stop was requested before.
  bool put(Message message, const std::stop_token& stop) {
    const std::size_t size = message.ByteSizeLong();
    {
      std::unique_lock lock(mutex_);
      const auto has_room = [&] { return messages_.empty() || bytes_ + size <= kMostPipeBytes; };
      if (!wait(lock, stop, has_room)) return false;
      messages_.push_back(std::move(message));
      bytes_ += size;
      is_asked_for_more_ = false;
    }
    news_();
    return true;
  }
  // Until next() has been asked for more than there is: all has been taken.
  bool drain(const std::stop_token& stop) {
    news_();
    std::unique_lock lock(mutex_);
    return wait(lock, stop, [this] { return messages_.empty() && is_asked_for_more_; });
  }

  // The next message; false: there is none now.
  bool next(Message& into) {
    const std::scoped_lock lock(mutex_);
    changed_.notify_all();
    is_asked_for_more_ = messages_.empty();
    if (is_asked_for_more_) return false;
    into = std::move(messages_.front());
    messages_.pop_front();
    bytes_ -= into.ByteSizeLong();
    return true;
  }

 private:
  template <typename Ready>
  bool wait(std::unique_lock<std::mutex>& lock, const std::stop_token& stop, Ready ready) {
    return clock_.wait_until(lock, changed_, Clock::kNever, stop, ready) && !stop.stop_requested();
  }

  Clock& clock_;
  const std::function<void()> news_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Message> messages_;
  std::size_t bytes_ = 0;  // of all messages
  bool is_asked_for_more_ = false;
};

}  // namespace caravan::service
