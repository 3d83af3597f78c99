// Reads what the API server gives of a container's log, byte for byte, and knows at any time where in the log
// that is, so that another reader goes on exactly there. Pure.
//
// The server counts no bytes: it gives what was written since a whole second. So a place is a line, known by
// its time, and how many of its bytes have been read. A place that is not found again was rotated away, which
// is an error: what lay between is lost. Times may go back by kDisorder between two lines.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "common/result.h"

namespace caravan::controller {

struct LogPlace {
  std::string time = {};    // that the server gives the line
  int same_time = 1;        // it is the first, second, ... line in a row of that time
  std::uint64_t bytes = 0;  // of the line, its time included

  bool operator==(const LogPlace&) const = default;
};

// For "sinceTime"; not before 1970.
std::string log_time_before(Clock::WallTime time, std::chrono::seconds by);
// The same, so that the place is in the answer.
std::string since_of(const LogPlace& place);

struct LogFlaw {
  bool is_lost = false;    // the place is not in the log any more
  std::string words = {};  // else: the server's own, which are no line of a log
};
template <typename T>
using ScanResult = tl::expected<T, LogFlaw>;

// For people.
std::string sentence_of(const LogFlaw& flaw, const std::string& pod);

class LogScanner {
 public:
  static constexpr std::chrono::seconds kDisorder{60};

  // rank: only what this one prints. from: only what lies behind it.
  LogScanner(std::optional<int> rank, std::optional<LogPlace> from);

  // Appends what these bytes give to read.
  ScanResult<void> take(std::string_view raw, std::string& text);
  // The same for the end of the log, whose last line may lack its own.
  ScanResult<void> end(std::string& text);

  // The place that it was to go on from has not come yet.
  bool is_seeking() const { return sought_.has_value(); }
  // Behind all that was given; nothing before the first line. A line of which it is not known yet whether it
  // is the rank's has not been read.
  std::optional<LogPlace> place() const { return sought_ ? sought_ : at_; }

 private:
  enum class In { kHead, kGiven, kPassedOver };  // the part of a line

  ScanResult<void> take_head(std::string& text);
  std::size_t bytes_of_head(std::string_view raw) const;
  bool head_is_whole() const;
  ScanResult<void> begin_line(std::string_view time);
  bool is_on_sought_line() const;
  ScanResult<void> advance(std::size_t bytes);

  const std::optional<int> rank_;
  std::optional<LogPlace> sought_;   // until it is reached
  std::optional<LogPlace> at_ = {};  // in the line that is read, its head apart
  In in_ = In::kHead;
  std::string head_ = {};
};

}  // namespace caravan::controller
