// Splits a byte stream into lines, wherever the chunks of the stream happen to end.
//
// A line that is too long is an error, once, and no part of it is ever a line: what follows its end is read
// as if it had not been. Memory is bounded by the longest line and the chunk that was added last.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/result.h"

namespace caravan {

class LineReader {
 public:
  explicit LineReader(std::size_t longest_line) : longest_line_(longest_line) {}

  void add(std::string_view chunk);
  // The next whole line that is not empty, without its end (\n or \r\n); nothing when more bytes are needed.
  Result<std::optional<std::string>> next();

 private:
  void drop_until(std::size_t line_end);

  std::size_t longest_line_;
  std::string pending_;
  std::size_t start_ = 0;     // of the first line not yet returned
  std::size_t searched_ = 0;  // no line end before this
  bool refused_ = false;      // the line at the start, whose end has not come
};

}  // namespace caravan
