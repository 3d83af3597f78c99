#include "worker/agent/result_file.h"

#include <spdlog/spdlog.h>

#include <fstream>

#include "common/json.h"
#include "worker/agent/one_peak.h"

namespace caravan::agent {
void ResultFile::tell(v1alpha1::JobReport report) {
  if (report.has_step()) {
    last_step_ = report.step();
    keep_one_peak(*last_step_);
  }
  if (report.has_result() && !path_.empty()) {
    v1alpha1::JobResult result = report.result();
    if (last_step_) *result.mutable_last_step() = *last_step_;
    std::ofstream file(path_, std::ios::trunc);
    file << to_json(result);
    if (!file.flush()) spdlog::warn("the result cannot be written to {}", path_);
  }
  if (next_ != nullptr) next_->tell(std::move(report));
}

}  // namespace caravan::agent
