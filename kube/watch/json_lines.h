// Splits a byte stream into lines, wherever the chunks of the stream happen to end.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/result.h"

namespace caravan::kube {

class JsonLines {
 public:
  // An object in etcd has at most 1.5 MiB; the bound keeps a stream without line ends from filling the
  // memory.
  static constexpr std::size_t kLongestLine = std::size_t{16} << 20;

  explicit JsonLines(std::size_t longest_line = kLongestLine) : longest_line_(longest_line) {}

  void add(std::string_view chunk);
  // The next whole line that is not empty, without its end; nothing when more bytes are needed. An error when
  // a line is too long: the stream is of no more use.
  Result<std::optional<std::string>> next();

 private:
  std::size_t longest_line_;
  std::string pending_;
  std::size_t start_ = 0;     // of the first line not yet returned
  std::size_t searched_ = 0;  // no line end before this
};

}  // namespace caravan::kube
