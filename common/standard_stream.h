// `-` in place of a file's name: standard input of what is read, standard output of a text that is written.
// What else is written has a file, and says so.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace caravan {

inline constexpr std::string_view kStandardStream = "-";

// What a file that is read is called in messages: its path, or "standard input".
inline std::string input_name(const std::string& path) {
  return path == kStandardStream ? "standard input" : path;
}

// Of what is written to files alone.
inline std::string refusal_of_standard_output(std::string_view what) {
  return fmt::format("{} is written to a file, not to standard output; give its name", what);
}

}  // namespace caravan
