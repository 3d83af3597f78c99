#include "worker/agent/report_log.h"

#include <spdlog/spdlog.h>

#include <fstream>

#include "common/json.h"
#include "common/utf8.h"
#include "proto/caravan/v1alpha1/step_speed.h"
#include "report_text/checkpoint_line.h"
#include "worker/agent/report_backlog.h"

namespace caravan::agent {
namespace {

// As last words have room for it.
v1alpha1::JobCheckpoint in_short(const v1alpha1::JobCheckpoint& told) {
  v1alpha1::JobCheckpoint kept;
  kept.set_attempt(told.attempt());
  kept.mutable_report()->set_outcome(told.report().outcome());
  kept.mutable_report()->set_step(told.report().step());
  return kept;
}

}  // namespace

void ReportLog::follow(const v1alpha1::JobSpec& spec) {
  between_steps_ = spec.has_log_every_seconds() ? std::chrono::seconds(spec.log_every_seconds()) : kLogEvery;
}

void ReportLog::tell(const v1alpha1::JobReport& report) {
  switch (report.report_case()) {
    case v1alpha1::JobReport::kAttemptStarted:
      step_written_at_.reset();
      break;
    case v1alpha1::JobReport::kStep:
      write(report.step());
      break;
    case v1alpha1::JobReport::kCheckpoint:
      if (const std::string line = checkpoint_line(report.checkpoint().report(), {}); !line.empty())
        spdlog::info("{}", line);
      break;
    case v1alpha1::JobReport::kEvent:
      spdlog::warn("{}: {}", report.event().reason(), readable(report.event().message()));
      break;
    case v1alpha1::JobReport::kResult:
      spdlog::info("{} ({}): {}", report.result().result(), report.result().reason(),
                   readable(report.result().message()));
      break;
    default:
      break;
  }
}

void ReportLog::write(const v1alpha1::JobStep& step) {
  const auto now = std::chrono::steady_clock::now();
  const bool is_due = !step_written_at_ || now - *step_written_at_ >= between_steps_;
  if (!is_due && step.step() < figures_.steps) return;
  step_written_at_ = now;
  const double remaining = (figures_.steps - step.step()) * expected_seconds(step);
  spdlog::info("{}", step_line(step, figures_, remaining, {}));
}

void ResultFile::tell(const v1alpha1::JobReport& report) {
  if (report.has_step()) {
    last_step_ = report.step();
    keep_one_peak(*last_step_);
  }
  if (report.checkpoint().report().outcome() == v1alpha1::CheckpointReport::Written)
    last_checkpoint_ = in_short(report.checkpoint());
  if (!report.has_result() || path_.empty()) return;
  v1alpha1::JobResult result = report.result();
  if (last_step_) *result.mutable_last_step() = *last_step_;
  if (last_checkpoint_) *result.mutable_last_checkpoint() = *last_checkpoint_;
  std::ofstream file(path_, std::ios::trunc);
  file << to_json(result);
  if (!file.flush()) spdlog::warn("the result cannot be written to {}", path_);
}

}  // namespace caravan::agent
