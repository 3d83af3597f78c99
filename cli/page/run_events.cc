#include "cli/page/run_events.h"

#include <fmt/format.h>

#include "caravan/v1alpha1/plan.pb.h"
#include "operator/api/names.h"
#include "proto/caravan/v1alpha1/reasons.h"
#include "report_text/checkpoint_line.h"

namespace caravan::cli {
namespace {

using controller::TimePoint;
using v1alpha1::CheckpointReport;
using v1alpha1::JobEventRecord;
using v1alpha1::JobReport;

// Of the job as a whole.
JobEventRecord record(bool is_warning, const std::string& reason, std::string message, const std::string& job,
                      TimePoint now) {
  JobEventRecord made;
  made.set_time(controller::to_text(now));
  made.set_type(is_warning ? "Warning" : "Normal");
  made.set_reason(reason);
  made.set_message(std::move(message));
  made.set_about(fmt::format("{}/{}", controller::kKind, job));
  made.set_count(1);
  return made;
}

// What was saved as it should stands in the status, and among the checkpoints.
std::optional<JobEventRecord> event_of(const CheckpointReport& report, const std::string& job,
                                       TimePoint now) {
  if (report.outcome() == CheckpointReport::Written) return std::nullopt;
  const bool is_resumed = report.outcome() == CheckpointReport::Resumed;
  std::string line = checkpoint_line(report, {});
  if (line.empty()) return std::nullopt;
  return record(!is_resumed, is_resumed ? reasons::kResumed : reasons::kSaveFailed, std::move(line), job,
                now);
}

}  // namespace

std::optional<JobEventRecord> event_of(const JobReport& report, const std::string& job, TimePoint now) {
  switch (report.report_case()) {
    case JobReport::kAttemptStarted:
      return record(false, reasons::kAttemptStarted,
                    fmt::format("attempt {} has started", report.attempt_started().attempt()), job, now);
    case JobReport::kEvent: {
      JobEventRecord made = record(true, report.event().reason(), report.event().message(), job, now);
      if (report.event().rank() >= 0) made.set_about(fmt::format("Rank/{}", report.event().rank()));
      return made;
    }
    case JobReport::kCheckpoint:
      return event_of(report.checkpoint().report(), job, now);
    case JobReport::kStep:
    case JobReport::kResult:  // told when the run is over
    case JobReport::kRankStarted:
    case JobReport::REPORT_NOT_SET:
      break;
  }
  return std::nullopt;
}

JobEventRecord event_of_plan(const v1alpha1::Plan& plan, const std::string& job, TimePoint now) {
  return record(false, plan.source(), plan.reason(), job, now);
}

JobEventRecord event_of_end(const v1alpha1::JobResult& result, const std::string& job, TimePoint now) {
  return record(result.result() == reasons::kFailed, result.reason(), result.message(), job, now);
}

}  // namespace caravan::cli
