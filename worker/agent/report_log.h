// The job's story in the log of its first agent, which is what `kubectl logs` shows.
#pragma once

#include <chrono>
#include <optional>

#include "report_text/step_line.h"
#include "worker/agent/report_sink.h"

namespace caravan::agent {

// Writes steps (not more than one in `between_steps`, and the last), attempts, checkpoints, events and the
// end to the log, and hands everything on to `next`, if there is one.
class ReportLog : public ReportSink {
 public:
  ReportLog(const v1alpha1::JobPlan& job, std::chrono::milliseconds between_steps, ReportSink* next)
      : figures_(figures_of(job)), between_steps_(between_steps), next_(next) {}
  void tell(v1alpha1::JobReport report) override;

 private:
  void write(const v1alpha1::JobStep& step);

  const RunFigures figures_;
  const std::chrono::milliseconds between_steps_;
  ReportSink* const next_;
  std::optional<std::chrono::steady_clock::time_point> step_written_at_;
};

}  // namespace caravan::agent
