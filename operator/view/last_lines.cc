#include "operator/view/last_lines.h"

#include <algorithm>

namespace caravan::controller {

ScanResult<void> LastLines::take(std::string_view raw) {
  while (!raw.empty()) {
    const std::string_view line = raw.substr(0, std::min(raw.find('\n'), raw.size() - 1) + 1);
    raw.remove_prefix(line.size());
    const std::optional<LogPlace> before = scanner_.place();
    std::string text;
    if (auto taken = scanner_.take(line, text); !taken) return taken;
    count(before, text);
  }
  return {};
}

// What the line begins with says whose it is; a place behind only that could not be gone on from.
ScanResult<void> LastLines::end() {
  LogScanner rest = scanner_;
  std::string text;
  if (auto ended = rest.end(text); !ended) return ended;
  count(scanner_.place(), text);
  return {};
}

void LastLines::count(const std::optional<LogPlace>& begin, std::string_view text) {
  if (text.empty()) return;
  if (!is_amid_line_) begins_.push_back(begin);
  if (begins_.size() > most_) begins_.pop_front();
  is_amid_line_ = !text.ends_with('\n');
}

}  // namespace caravan::controller
