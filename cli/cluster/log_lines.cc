#include "cli/cluster/log_lines.h"

namespace caravan::cli {

void LogLines::add(const std::string& pod, std::string_view text) {
  if (pod != pod_) finish();
  pod_ = pod;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    begun_ += text.substr(0, end);
    text.remove_prefix(end + 1);
    if (begun_.ends_with('\r')) begun_.pop_back();
    take_(begun_);
    begun_.clear();
  }
  begun_ += text;
  if (begun_.size() >= kLongest) finish();
}

void LogLines::finish() {
  if (!begun_.empty()) take_(begun_);
  begun_.clear();
}

}  // namespace caravan::cli
