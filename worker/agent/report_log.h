// What the agent of node 0 keeps of the job's reports itself: lines in its log, which is what `kubectl logs`
// shows, and the result in a file, such as the termination log of a pod, for whoever missed the reports.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "report_text/step_line.h"
#include "worker/agent/defaults.h"

namespace caravan::agent {

// Steps (not more than one in logEverySeconds, and the last), attempts, checkpoints, events and the end.
class ReportLog {
 public:
  explicit ReportLog(const v1alpha1::JobPlan& job) : figures_(figures_of(job)) { follow(job.spec()); }
  // The steps are as far apart as this says from now on.
  void follow(const v1alpha1::JobSpec& spec);
  void tell(const v1alpha1::JobReport& report);

 private:
  void write(const v1alpha1::JobStep& step);

  const RunFigures figures_;
  std::chrono::seconds between_steps_{};
  std::optional<std::chrono::steady_clock::time_point> step_written_at_;
};

// The result with its last step and checkpoint: at most 4 KiB, however many ranks there are.
class ResultFile {
 public:
  explicit ResultFile(std::string path) : path_(std::move(path)) {}
  void tell(const v1alpha1::JobReport& report);

 private:
  const std::string path_;  // empty: nowhere
  std::optional<v1alpha1::JobStep> last_step_;
  std::optional<v1alpha1::JobCheckpoint> last_checkpoint_;
};

}  // namespace caravan::agent
