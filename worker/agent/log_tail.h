// The last lines of a log file, as text that is valid UTF-8.
#pragma once

#include <string>
#include <vector>

namespace caravan::agent {

inline constexpr std::size_t kMaxLogLines = 10;
inline constexpr std::size_t kMaxLogLineBytes = 300;

// At most kMaxLogLines of kMaxLogLineBytes, without empty ones; none when the file cannot be read.
std::vector<std::string> last_log_lines(const std::string& path);

}  // namespace caravan::agent
