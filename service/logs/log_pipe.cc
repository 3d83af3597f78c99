#include "service/logs/log_pipe.h"

namespace caravan::service {

bool LogPipe::put(v1alpha1::StreamLogsResponse message, const std::stop_token& stop) {
  const std::size_t size = message.ByteSizeLong();
  {
    std::unique_lock lock(mutex_);
    const auto has_room = [&] { return messages_.empty() || bytes_ + size <= kMostBytes; };
    if (!wait(lock, stop, has_room)) return false;
    messages_.push_back(std::move(message));
    bytes_ += size;
    is_asked_for_more_ = false;
  }
  news_();
  return true;
}

bool LogPipe::drain(const std::stop_token& stop) {
  news_();
  std::unique_lock lock(mutex_);
  return wait(lock, stop, [this] { return messages_.empty() && is_asked_for_more_; });
}

bool LogPipe::next(v1alpha1::StreamLogsResponse& into) {
  const std::scoped_lock lock(mutex_);
  changed_.notify_all();
  is_asked_for_more_ = messages_.empty();
  if (is_asked_for_more_) return false;
  into = std::move(messages_.front());
  messages_.pop_front();
  bytes_ -= into.ByteSizeLong();
  return true;
}

bool LogPipe::wait(std::unique_lock<std::mutex>& lock, const std::stop_token& stop,
                   const std::function<bool()>& ready) {
  return clock_.wait_until(lock, changed_, Clock::kNever, stop, ready) && !stop.stop_requested();
}

}  // namespace caravan::service
