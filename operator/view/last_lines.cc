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
    if (text.empty()) continue;
    if (!is_amid_line_) begins_.push_back(before);
    if (begins_.size() > most_) begins_.pop_front();
    is_amid_line_ = !text.ends_with('\n');
  }
  return {};
}

}  // namespace caravan::controller
