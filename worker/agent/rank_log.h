// The log file of a rank, as lines that can be shown: valid UTF-8 without control characters, cut where they
// are too long, empty ones left out.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/unique_fd.h"

namespace caravan::agent {

inline constexpr std::size_t kMaxLogLines = 10;
inline constexpr std::size_t kMaxLogLineBytes = 300;

// The last of them, at most kMaxLogLines of kMaxLogLineBytes; none when the file cannot be read.
std::vector<std::string> last_log_lines(const std::string& path);

// A rank that writes without end must not fill the log of its agent: so much of each look, a few times a
// second.
inline constexpr std::int64_t kMaxFollowedBytes = 65'536;
inline constexpr std::chrono::milliseconds kBetweenLooks{250};

// Where a disk has little room, so much of a log that was followed stays. What is before it is given back in
// pieces.
inline constexpr std::int64_t kKeptLogBytes = std::int64_t{16} << 20;
inline constexpr std::int64_t kLogBytesGivenBack = std::int64_t{1} << 20;

// Reads a log while it is being written.
class LogFollower {
 public:
  // The file exists. Of what was followed, kept_bytes stay, and what is before them is given back to the disk
  // and reads as zeros, as far as the file system can do that; absent: all stays.
  explicit LogFollower(std::string path, std::optional<std::int64_t> kept_bytes = std::nullopt);

  // The lines that came since the last look, each whole: one that has no end yet waits for the next look, or
  // for `ended`. Where there are more than kMaxFollowedBytes the last of them, behind a line that says so.
  // Nothing where the last look is less than kBetweenLooks ago.
  std::vector<std::string> take(bool ended, std::chrono::steady_clock::time_point now);

 private:
  std::string read(std::int64_t from) const;
  void give_back();

  std::string path_;
  std::optional<std::int64_t> kept_bytes_;
  UniqueFd file_;
  std::int64_t offset_ = 0;  // of what was taken
  std::int64_t given_back_ = 0;
  std::optional<std::chrono::steady_clock::time_point> looked_at_;
};

}  // namespace caravan::agent
