#include "worker/agent/result_file.h"

#include <spdlog/spdlog.h>

#include <fstream>

#include "common/json.h"

namespace caravan::agent {

void ResultFile::tell(v1alpha1::JobReport report) {
  if (report.has_result() && !path_.empty()) {
    std::ofstream file(path_, std::ios::trunc);
    file << to_json(report.result());
    if (!file.flush()) spdlog::warn("the result cannot be written to {}", path_);
  }
  if (next_ != nullptr) next_->tell(std::move(report));
}

}  // namespace caravan::agent
