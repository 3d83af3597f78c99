#include "operator/service/job_progress.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "operator/view/progress_status.h"
#include "policy/failure_policy.h"
#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::controller {
namespace {

void begin_attempt(int attempt, JobProgress& progress) {
  progress.attempt = attempt;
  progress.short_attempts.reset();
  progress.step.reset();
  progress.resumed_step.reset();
  progress.stragglers.clear();
  progress.absence.reset();
}

// Told again after each reconnection.
bool add_straggler(const v1alpha1::JobEvent& event, JobProgress& progress) {
  if (event.attempt() < progress.attempt) return false;
  if (event.attempt() > progress.attempt) begin_attempt(event.attempt(), progress);
  std::vector<v1alpha1::JobEvent>& known = progress.stragglers;
  const auto is_same = [&](const v1alpha1::JobEvent& other) { return other.message() == event.message(); };
  if (std::ssize(known) >= policy::kMostStragglers || std::any_of(known.begin(), known.end(), is_same))
    return false;
  known.push_back(event);
  return true;
}

bool add_absence(const v1alpha1::JobEvent& event, TimePoint now, JobProgress& progress) {
  if (event.attempt() <= progress.attempt) return false;
  progress.absence = {.nodes = {event.absent_nodes().begin(), event.absent_nodes().end()},
                      .of_all_others = event.has_suspect_node(),
                      .at = now,
                      .message = event.message()};
  return true;
}

bool add_answer(const v1alpha1::CheckpointReport& report, JobProgress& progress) {
  if (report.request().empty() || report.request() == progress.answered_request) return false;
  progress.answered_request = report.request();
  return true;
}

TimePoint first_told_at(const v1alpha1::JobCheckpoint& checkpoint, TimePoint now) {
  return now - std::chrono::duration_cast<TimePoint::duration>(
                   std::chrono::duration<double>(checkpoint.seconds_ago()));
}

// Shown with the steps, so that it is news where it ends a trouble alone. Told again after each reconnection,
// when saves may have failed since.
bool add_saved(const v1alpha1::JobCheckpoint& checkpoint, TimePoint now, JobProgress& progress) {
  const v1alpha1::CheckpointReport& report = checkpoint.report();
  std::vector<SavedStep>& known = progress.checkpoints;
  const bool is_same_step = !known.empty() && known.back().step == report.step();
  if (is_same_step && known.back().attempt == checkpoint.attempt()) return false;
  if (is_same_step) known.pop_back();  // it was trained again
  known.push_back({report.step(), first_told_at(checkpoint, now), checkpoint.attempt()});
  if (known.size() > kMostCheckpointsShown) known.erase(known.begin());
  progress.stall_seconds += report.stall_seconds();
  return std::exchange(progress.failed_save, std::nullopt).has_value();
}

bool add_checkpoint(const v1alpha1::JobCheckpoint& checkpoint, TimePoint now, JobProgress& progress) {
  const v1alpha1::CheckpointReport& report = checkpoint.report();
  switch (report.outcome()) {
    case v1alpha1::CheckpointReport::Written:
      return add_saved(checkpoint, now, progress);
    case v1alpha1::CheckpointReport::Failed: {
      const bool first = !progress.failed_save;
      if (first || progress.failed_save->step() != report.step())
        progress.stall_seconds += report.stall_seconds();
      progress.failed_save = report;
      return first;
    }
    case v1alpha1::CheckpointReport::Resumed:
      if (checkpoint.attempt() < progress.attempt) return false;
      if (checkpoint.attempt() > progress.attempt) begin_attempt(checkpoint.attempt(), progress);
      if (!progress.resumed_step) progress.restore_seconds += report.stall_seconds();
      progress.resumed_step = report.step();
      return true;
    default:
      return false;
  }
}

}  // namespace

bool add_report(const v1alpha1::JobReport& report, TimePoint now, JobProgress& progress) {
  using Report = v1alpha1::JobReport;
  switch (report.report_case()) {
    case Report::kAttemptStarted:
      if (report.attempt_started().attempt() <= progress.attempt) return false;
      begin_attempt(report.attempt_started().attempt(), progress);
      if (report.attempt_started().has_short_attempts())
        progress.short_attempts = report.attempt_started().short_attempts();
      progress.ended = {report.attempt_started().ended().begin(), report.attempt_started().ended().end()};
      return true;
    case Report::kStep: {
      const v1alpha1::JobStep& step = report.step();
      if (step.attempt() < progress.attempt) return false;
      if (step.attempt() > progress.attempt) begin_attempt(step.attempt(), progress);
      const bool first = !progress.step;
      progress.step = step;
      return first;
    }
    case Report::kEvent:
      if (report.event().reason() == reasons::kStraggler) return add_straggler(report.event(), progress);
      if (report.event().reason() == reasons::kNodeAbsent) return add_absence(report.event(), now, progress);
      if (progress.event && report.event().attempt() < progress.event->attempt()) return false;
      if (!progress.event || report.event().attempt() > progress.event->attempt()) progress.event_at = now;
      progress.event = report.event();
      return true;
    case Report::kCheckpoint: {
      const bool answers = add_answer(report.checkpoint().report(), progress);
      return add_checkpoint(report.checkpoint(), now, progress) || answers;
    }
    case Report::kResult:
      progress.result = report.result();
      return true;
    default:
      return false;
  }
}

}  // namespace caravan::controller
