#include "kube/watch/json_lines.h"

#include <fmt/format.h>

namespace caravan::kube {

void JsonLines::add(std::string_view chunk) {
  pending_.erase(0, start_);
  searched_ -= start_;
  start_ = 0;
  pending_ += chunk;
}

Result<std::optional<std::string>> JsonLines::next() {
  while (true) {
    const std::size_t end = pending_.find('\n', searched_);
    const std::size_t length = (end == std::string::npos ? pending_.size() : end) - start_;
    if (length > longest_line_) return failure(fmt::format("a line is longer than {} bytes", longest_line_));
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

}  // namespace caravan::kube
