// `-` in place of a file's name: standard input of what is read, standard output of a text that is written.
// What else is written has a file, and says so. And whether what was printed has arrived.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "common/result.h"

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

// Whether all that was written on standard output until now has arrived.
inline bool output_arrives() {
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

// How a program ends that has printed its answer: one that did not arrive is no success, which it says.
inline ExitCode unless_output_is_lost(ExitCode code) {
  if (output_arrives()) return code;
  std::fputs("standard output: not everything could be written; give it room and an open end\n", stderr);
  return code == ExitCode::kDone ? ExitCode::kJobFailed : code;
}

}  // namespace caravan
