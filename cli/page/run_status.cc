#include "cli/page/run_status.h"

#include <algorithm>

#include "operator/api/conditions.h"
#include "operator/api/names.h"
#include "operator/view/plan_status.h"
#include "operator/view/progress_status.h"
#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::cli {
namespace {

namespace conditions = controller::conditions;
using controller::Conditions;
using v1alpha1::CheckpointReport;
using v1alpha1::JobReport;
using v1alpha1::JobSpec;
using v1alpha1::JobStatus;

constexpr int kGeneration = 1;  // the job does not change while it runs

Conditions conditions_of(JobStatus& status, TimePoint now) {
  return {status, kGeneration, now};
}

void begin_attempt(int attempt, Conditions conditions, JobStatus& status) {
  status.set_attempt(std::max(status.attempt(), attempt));
  conditions.write(controller::ranks_start(attempt, std::nullopt));
  for (const char* over : {conditions::kRestarting, conditions::kStraggling})
    conditions.write(controller::ends_with_attempt(over, attempt));
}

void show_event(const v1alpha1::JobEvent& event, Conditions conditions, JobStatus& status) {
  if (event.reason() == reasons::kStraggler)
    conditions.set(conditions::kStraggling, true, event.reason(), event.message());
  if (!event.restarting()) return;
  status.set_restarts(status.restarts() + 1);
  if (event.counts()) status.set_counted_restarts(status.counted_restarts() + 1);
  conditions.set(conditions::kRestarting, true, event.reason(), event.message());
}

void show_save(const JobSpec& spec, const CheckpointReport& report, TimePoint now, Conditions conditions,
               JobStatus& status) {
  if (report.outcome() == CheckpointReport::Written) {
    controller::show_checkpoint(spec, report.step(), now, status);
    conditions.write(controller::save_complete(report.step()));
  }
  if (report.outcome() == CheckpointReport::Failed) conditions.write(controller::save_failed(report));
}

void show_state(JobStatus& status) {
  const bool has_begun = controller::find_condition(status, conditions::kRunning) != nullptr;
  status.set_state(has_begun ? controller::state_of(status) : controller::kStarting);
}

}  // namespace

JobStatus first_status(const JobSpec& spec, const v1alpha1::Plan& plan, TimePoint now) {
  JobStatus status;
  status.set_observed_generation(kGeneration);
  status.set_start_time(controller::to_text(now));
  status.set_restarts(0);
  controller::announce_steps(spec, status);
  show_new_plan(plan, now, status);
  return status;
}

void show_new_plan(const v1alpha1::Plan& plan, TimePoint now, JobStatus& status) {
  controller::show_plan(plan, status);
  conditions_of(status, now).set(conditions::kPlanned, true, plan.source(), plan.reason());
  show_state(status);
}

void show_report(const JobSpec& spec, const JobReport& report, TimePoint now, JobStatus& status) {
  Conditions conditions = conditions_of(status, now);
  switch (report.report_case()) {
    case JobReport::kAttemptStarted:
      begin_attempt(report.attempt_started().attempt(), conditions, status);
      break;
    case JobReport::kStep:
      controller::show_step(spec, report.step(), now, *status.mutable_progress());
      conditions.write(controller::steps_advance(report.step().attempt(), std::nullopt));
      break;
    case JobReport::kEvent:
      show_event(report.event(), conditions, status);
      break;
    case JobReport::kCheckpoint:
      show_save(spec, report.checkpoint().report(), now, conditions, status);
      break;
    case JobReport::kResult:  // shown when the run is over
    case JobReport::kRankStarted:
    case JobReport::REPORT_NOT_SET:
      break;
  }
  show_state(status);
}

void show_end(const v1alpha1::JobResult& result, TimePoint now, JobStatus& status) {
  Conditions conditions = conditions_of(status, now);
  status.set_completion_time(controller::to_text(now));
  for (const char* over : {conditions::kRunning, conditions::kRestarting, conditions::kStraggling})
    conditions.clear(over, result.reason(), result.message());
  if (result.result() == reasons::kComplete)
    conditions.set(conditions::kComplete, true, reasons::kStepsReached, result.message());
  else if (result.result() == reasons::kInterrupted)
    conditions.set(conditions::kSuspended, true, result.reason(), result.message());
  else
    conditions.set(conditions::kFailed, true, result.reason(), result.message());
  status.set_state(result.result());
}

}  // namespace caravan::cli
