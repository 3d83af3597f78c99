// For tests: the lines that a reader finds in bytes that come in chunks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/line_reader.h"

namespace caravan::test {

inline constexpr std::string_view kRefusedLine = "\n";  // in place of a line that is too long

inline std::vector<std::string> read_lines(std::string_view bytes, std::size_t chunk,
                                           std::size_t longest_line) {
  LineReader reader(longest_line);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < bytes.size(); at += chunk) {
    reader.add(bytes.substr(at, chunk));
    for (auto line = reader.next(); !line || *line; line = reader.next())
      lines.emplace_back(line ? **line : kRefusedLine);
  }
  return lines;
}

}  // namespace caravan::test
