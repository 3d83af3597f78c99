// The agent's log, on a descriptor whose reader may be slow or stuck: whoever logs waits for it, but not
// longer than kPatience, and in the long run for a tenth of the time. Of lines that it does not take in time,
// the next one that it does take is told their number.
//
// Each line is written by whoever logs it, so the last words of an agent that dies arrive. A write does not
// block, since it has a page at most, poll(2) finds room for that in a pipe, and nobody else writes there.
#pragma once

#include <spdlog/sinks/base_sink.h>

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace caravan::agent {

class LogSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // With the reader, for all lines together; a tenth of the time that passes is added again. It is shorter
  // than the coordinator's with an agent that is silent (defaults.h).
  static constexpr std::chrono::milliseconds kPatience{1500};

  explicit LogSink(int fd) : fd_(fd) {}

  // At the agent's end: says what is missing. For that and last words there is all of kPatience once more.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}

  std::string text_of(const spdlog::details::log_msg& message) const;
  // False: it was not taken in time.
  bool tell_missing();
  bool put(std::string_view text);
  bool has_room();

  const int fd_;
  Clock::duration patience_ = kPatience;  // that is left
  Clock::time_point waited_at_{};         // when it was spent last
  std::size_t missing_ = 0;               // lines, since the last that was taken
  std::string logger_;                    // whose they are
  bool within_line_ = false;
};

}  // namespace caravan::agent
