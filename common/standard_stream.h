// `-` in place of a file's name: standard input of what is read, standard output of what is written.
#pragma once

#include <string>
#include <string_view>

namespace caravan {

inline constexpr std::string_view kStandardStream = "-";

// What a file that is read is called in messages: its path, or "standard input".
inline std::string input_name(const std::string& path) {
  return path == kStandardStream ? "standard input" : path;
}

}  // namespace caravan
