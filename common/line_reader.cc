#include "common/line_reader.h"

#include <fmt/format.h>

namespace caravan {

void LineReader::add(std::string_view chunk) {
  pending_.erase(0, start_);
  searched_ -= start_;
  start_ = 0;
  pending_ += chunk;
}

Result<std::optional<std::string>> LineReader::next() {
  if (refused_) drop_until(pending_.find('\n', start_));
  while (true) {
    const std::size_t end = pending_.find('\n', searched_);
    const std::size_t length = (end == std::string::npos ? pending_.size() : end) - start_;
    if (length > longest_line_) {
      drop_until(end);
      return failure(fmt::format("a line is longer than {} bytes", longest_line_));
    }
    if (end == std::string::npos) {
      searched_ = pending_.size();
      return std::nullopt;
    }
    std::string line = pending_.substr(start_, length);
    start_ = searched_ = end + 1;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) return line;
  }
}

void LineReader::drop_until(std::size_t line_end) {
  refused_ = line_end == std::string::npos;
  start_ = searched_ = refused_ ? pending_.size() : line_end + 1;
}

}  // namespace caravan
