// Lines as a reader of chunks finds them, and as anybody would who has all the bytes at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/testing/lines.h"
#include "fuzz/require.h"

namespace caravan::fuzz {

inline std::vector<std::string> split_lines(std::string_view bytes, std::size_t longest_line) {
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    const bool is_too_long = line.size() > longest_line;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (is_too_long) {
      lines.emplace_back(test::kRefusedLine);
    } else if (end != std::string_view::npos && !line.empty()) {
      lines.emplace_back(line);
    }
  }
  return lines;
}

// The lines of the bytes after the first, which is the size of the chunks that they come in.
inline std::vector<std::string> lines_of(std::string_view input, std::size_t longest_line) {
  if (input.empty()) return {};
  const std::size_t chunk = std::max<std::size_t>(1, static_cast<unsigned char>(input.front()));
  const std::string_view bytes = input.substr(1);
  std::vector<std::string> lines = split_lines(bytes, longest_line);
  require(test::read_lines(bytes, chunk, longest_line) == lines, "the lines are others in chunks", bytes);
  require(test::read_lines(bytes, bytes.size(), longest_line) == lines, "the lines are others at once",
          bytes);
  std::erase(lines, test::kRefusedLine);
  return lines;
}

}  // namespace caravan::fuzz
