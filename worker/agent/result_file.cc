#include "worker/agent/result_file.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <fstream>

#include "common/json.h"

namespace caravan::agent {
namespace {

v1alpha1::JobStep with_one_peak(v1alpha1::JobStep step) {
  auto& peaks = *step.mutable_peak_bytes_per_rank();
  if (!peaks.empty()) {
    const std::int64_t fullest = *std::max_element(peaks.begin(), peaks.end());
    peaks.Clear();
    peaks.Add(fullest);
  }
  return step;
}

}  // namespace

void ResultFile::tell(v1alpha1::JobReport report) {
  if (report.has_step()) last_step_ = report.step();
  if (report.has_result() && !path_.empty()) {
    v1alpha1::JobResult result = report.result();
    if (last_step_) *result.mutable_last_step() = with_one_peak(*last_step_);
    std::ofstream file(path_, std::ios::trunc);
    file << to_json(result);
    if (!file.flush()) spdlog::warn("the result cannot be written to {}", path_);
  }
  if (next_ != nullptr) next_->tell(std::move(report));
}

}  // namespace caravan::agent
