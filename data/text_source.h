// A text as a stream of bytes: a file, or standard input for the path "-".
//
// Errors: a missing or unreadable file, a folder (exit code 2). When `stop_fd` becomes readable, the next
// read fails with exit code 130, also one that waits for standard input.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "common/result.h"
#include "common/unique_fd.h"

namespace caravan::data {

class TextSource {
 public:
  // stop_fd: -1 for none; stays the caller's.
  static Result<TextSource> open(const std::string& path, int stop_fd = -1);

  const std::string& name() const { return name_; }
  std::optional<int64_t> size() const { return size_; }  // of a regular file

  // Fills all of `output` unless the text ends; gives the bytes read.
  Result<size_t> read(std::span<char> output);

 private:
  TextSource(std::string name, UniqueFd descriptor, int stop_fd, std::optional<int64_t> size)
      : name_(std::move(name)), descriptor_(std::move(descriptor)), stop_fd_(stop_fd), size_(size) {}
  Status wait_for_input() const;

  std::string name_;
  UniqueFd descriptor_;
  int stop_fd_;
  std::optional<int64_t> size_;
};

}  // namespace caravan::data
