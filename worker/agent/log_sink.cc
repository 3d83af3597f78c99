#include "worker/agent/log_sink.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace caravan::agent {

void LogSink::finish() {
  const std::scoped_lock lock(mutex_);
  patience_ = kPatience;
  tell_missing();
}

void LogSink::sink_it_(const spdlog::details::log_msg& message) {
  if (tell_missing() && put(text_of(message))) return;
  logger_ = fmt::to_string(message.logger_name);
  ++missing_;
}

std::string LogSink::text_of(const spdlog::details::log_msg& message) const {
  spdlog::memory_buf_t line;
  formatter_->format(message, line);
  return fmt::to_string(line);
}

bool LogSink::tell_missing() {
  if (missing_ == 0) return true;
  const std::string what = missing_ == 1
                               ? "1 line is missing here: nobody took it in time"
                               : fmt::format("{} lines are missing here: nobody took them in time", missing_);
  const spdlog::details::log_msg note(logger_, spdlog::level::warn, what);
  if (!put((within_line_ ? "\n" : "") + text_of(note))) return false;
  missing_ = 0;
  return true;
}

bool LogSink::put(std::string_view text) {
  while (!text.empty()) {
    if (!has_room()) return false;
    const ssize_t count = write(fd_, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    const bool is_tried_again = count < 0 && (errno == EINTR || (errno == EAGAIN && patience_.count() > 0));
    if (is_tried_again) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
    within_line_ = !text.empty();
  }
  return true;
}

// Waits for it while there is patience.
bool LogSink::has_room() {
  const Clock::time_point start = Clock::now();
  patience_ = std::min<Clock::duration>(kPatience, patience_ + (start - waited_at_) / 10);
  const auto timeout =
      static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(patience_).count());
  pollfd out{fd_, POLLOUT, 0};
  int ready = 0;
  do {
    ready = poll(&out, 1, timeout);
  } while (ready < 0 && errno == EINTR);
  waited_at_ = Clock::now();
  patience_ -= std::min(patience_, waited_at_ - start);
  return ready > 0 && (out.revents & POLLOUT) != 0;
}

}  // namespace caravan::agent
