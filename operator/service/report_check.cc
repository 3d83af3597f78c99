#include "operator/service/report_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "common/utf8.h"
#include "policy/failure_policy.h"
#include "policy/memory_shortage.h"
#include "proto/caravan/v1alpha1/reasons.h"
#include "proto/caravan/v1alpha1/step_phases.h"
#include "proto/caravan/v1alpha1/step_speed.h"

namespace caravan::controller {
namespace {

using v1alpha1::AttemptStarted;
using v1alpha1::CheckpointReport;
using v1alpha1::EndedAttempt;
using v1alpha1::JobCheckpoint;
using v1alpha1::JobEvent;
using v1alpha1::JobReport;
using v1alpha1::JobResult;
using v1alpha1::JobStep;

constexpr std::size_t kLongestRequest = 512;  // bytes, longer than any of ours
constexpr std::size_t kLongestText = 1024;    // bytes, as of a condition's message
// The gang needs more than a second to start, so a job cannot have made more attempts than it is old.
constexpr std::int64_t kSpareAttempts = 1000;  // clocks differ
constexpr double kMostSeconds = 1e9;
constexpr double kMostTokensPerSecond = 1e15;
constexpr double kMostMfu = 1000;  // above 1 where the peak that the user gave is wrong

// What a job can end with, beside what stops an attempt.
constexpr std::array kReasonsOfAnEnd{reasons::kStepsReached,         reasons::kMaxRestartsReached,
                                     reasons::kFailurePolicyMatched, reasons::kDoesNotFit,
                                     reasons::kInvalidSpec,          reasons::kDeadlineExceeded,
                                     reasons::kAgentFailed,          reasons::kStoppedByUser};
constexpr int kMostNodes = 100'000;

std::string known_reason(const std::string& reason) {
  const auto has = [&](const auto& known) { return std::ranges::find(known, reason) != std::end(known); };
  return has(reasons::kOfStops) || has(kReasonsOfAnEnd) ? reason : reasons::kRankFailed;
}

// Of the job; one that it does not have has no pod either.
std::optional<int> known_node(bool is_told, int node) {
  return is_told && node >= 0 && node < kMostNodes ? std::optional(node) : std::nullopt;
}

// One that asks for no correction says nothing.
template <typename Message>
void keep_shortage(const Message& told, Message& kept) {
  if (policy::correction_of(told.shortage(), told.attempt())) *kept.mutable_shortage() = told.shortage();
}

std::int64_t most_attempts(const JobFacts& job, TimePoint now) {
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(now - job.created_at).count();
  return std::min<std::int64_t>(std::max<std::int64_t>(0, age) + kSpareAttempts, 1'000'000'000);
}

Status check_attempt(int attempt, int least, const JobFacts& job, TimePoint now) {
  const std::int64_t most = most_attempts(job, now);
  if (attempt >= least && attempt <= most) return {};
  return failure(
      fmt::format("attempt {} cannot be: a job of this age has between {} and {}", attempt, least, most));
}

Status check_number(const char* name, double value, double most) {
  if (value >= 0 && value <= most) return {};
  return failure(fmt::format("{} is {}, not between 0 and {}", name, value, most));
}

Result<AttemptStarted> check_start(const AttemptStarted& started, const JobFacts& job, TimePoint now) {
  AttemptStarted kept;
  kept.set_attempt(started.attempt());
  if (started.has_short_attempts()) {
    if (Status known = check_attempt(started.short_attempts(), 0, job, now); !known)
      return tl::unexpected(known.error());
    kept.set_short_attempts(started.short_attempts());
  }
  for (int i = 0; i < std::min(started.ended_size(), policy::kMostEndedAttempts); ++i) {
    const EndedAttempt& told = started.ended(i);
    if (Status known = check_attempt(told.attempt(), 0, job, now); !known)
      return tl::unexpected(known.error());
    EndedAttempt& ended = *kept.add_ended();
    ended.set_attempt(told.attempt());
    ended.set_reason(known_reason(told.reason()));
    ended.set_counts(told.counts());
    if (const auto node = known_node(told.has_suspect_node(), told.suspect_node()))
      ended.set_suspect_node(*node);
    keep_shortage(told, ended);
  }
  return kept;
}

// What cannot be is left out, and the step is taken without it.
void keep_phases(const JobStep& step, JobStep& kept) {
  if (!step.has_phase_seconds()) return;
  for (const StepPhase& phase : kStepPhases) {
    const double seconds = (step.phase_seconds().*phase.get)();
    if (!check_number("phaseSeconds", seconds, kMostSeconds)) return kept.clear_phase_seconds();
    (kept.mutable_phase_seconds()->*phase.set)(seconds);
  }
}

Result<JobStep> check_step(const JobStep& step, const JobFacts& job) {
  if (step.step() < 0 || (job.steps > 0 && step.step() > job.steps))
    return failure(fmt::format("step {} is none of a job of {} steps", step.step(), job.steps));
  for (const Status& number :
       {check_number("seconds", step.seconds(), kMostSeconds),
        check_number("usualSeconds", step.usual_seconds(), kMostSeconds),
        check_number("meanSeconds", step.mean_seconds(), kMostSeconds),
        check_number("tokensPerSecond", step.tokens_per_second(), kMostTokensPerSecond),
        check_number("usual tokensPerSecond", usual_tokens_per_second(step), kMostTokensPerSecond),
        check_number("mfu", step.mfu(), kMostMfu), check_number("usual mfu", usual_mfu(step), kMostMfu)}) {
    if (!number) return tl::unexpected(number.error());
  }
  JobStep kept;
  keep_phases(step, kept);
  kept.set_attempt(step.attempt());
  kept.set_step(step.step());
  kept.set_loss(step.loss());
  if (step.has_validation_loss()) kept.set_validation_loss(step.validation_loss());
  kept.set_gradient_norm(step.gradient_norm());
  kept.set_learning_rate(step.learning_rate());
  kept.set_seconds(step.seconds());
  if (step.has_usual_seconds()) kept.set_usual_seconds(step.usual_seconds());
  if (step.has_mean_seconds()) kept.set_mean_seconds(step.mean_seconds());
  kept.set_tokens_per_second(step.tokens_per_second());
  if (step.has_mfu()) kept.set_mfu(step.mfu());
  const auto& peaks = step.peak_bytes_per_rank();
  if (!peaks.empty())
    kept.add_peak_bytes_per_rank(std::max<std::int64_t>(0, *std::max_element(peaks.begin(), peaks.end())));
  return kept;
}

// The path that counts is the spec's own.
Result<JobCheckpoint> check_checkpoint(const JobCheckpoint& told, const JobFacts& job) {
  const CheckpointReport& report = told.report();
  if (report.step() < 1 || (job.steps > 0 && report.step() > job.steps))
    return failure(fmt::format("step {} is none of a job of {} steps", report.step(), job.steps));
  for (const Status& number : {check_number("stallSeconds", report.stall_seconds(), kMostSeconds),
                               check_number("secondsAgo", told.seconds_ago(), kMostSeconds)}) {
    if (!number) return tl::unexpected(number.error());
  }
  JobCheckpoint kept;
  kept.set_attempt(told.attempt());
  kept.set_seconds_ago(told.seconds_ago());
  kept.mutable_report()->set_stall_seconds(report.stall_seconds());
  kept.mutable_report()->set_outcome(report.outcome());
  kept.mutable_report()->set_step(report.step());
  if (report.request().size() <= kLongestRequest) kept.mutable_report()->set_request(report.request());
  if (report.outcome() == CheckpointReport::Failed)
    kept.mutable_report()->set_message(readable(report.message(), kLongestText));
  return kept;
}

void keep_absent_nodes(const JobEvent& event, JobEvent& kept) {
  for (const int node : event.absent_nodes()) {
    if (kept.absent_nodes_size() < policy::kMostAbsentNodes && known_node(true, node))
      kept.add_absent_nodes(node);
  }
}

// That a rank is slow, or a node not there yet, ends nothing.
JobEvent keep(const JobEvent& event) {
  JobEvent kept;
  kept.set_attempt(event.attempt());
  kept.set_message(readable(event.message(), kLongestText));
  if (event.reason() == reasons::kStraggler) {
    kept.set_reason(reasons::kStraggler);
    return kept;
  }
  if (const auto node = known_node(event.has_suspect_node(), event.suspect_node()))
    kept.set_suspect_node(*node);
  if (event.reason() == reasons::kNodeAbsent) {
    kept.set_reason(reasons::kNodeAbsent);
    keep_absent_nodes(event, kept);
    return kept;
  }
  kept.set_reason(known_reason(event.reason()));
  keep_shortage(event, kept);
  if (check_number("silentSeconds", event.silent_seconds(), kMostSeconds))
    kept.set_silent_seconds(event.silent_seconds());
  kept.set_restarting(event.restarting());
  kept.set_counts(event.counts());
  return kept;
}

// That the report is of; a result is of the job.
std::optional<int> attempt_of(const JobReport& report) {
  switch (report.report_case()) {
    case JobReport::kAttemptStarted:
      return report.attempt_started().attempt();
    case JobReport::kStep:
      return report.step().attempt();
    case JobReport::kEvent:
      return report.event().attempt();
    case JobReport::kCheckpoint:
      return report.checkpoint().attempt();
    default:
      return std::nullopt;
  }
}

template <typename Part>
Result<JobReport> report_of(Result<Part> part, Part* (JobReport::*place)()) {
  if (!part) return tl::unexpected(part.error());
  JobReport report;
  *(report.*place)() = *std::move(part);
  return report;
}

}  // namespace

Result<JobResult> check_result(const JobResult& result, const JobFacts& job, TimePoint now) {
  const std::string& how = result.result();
  if (how != reasons::kComplete && how != reasons::kFailed && how != reasons::kInterrupted)
    return failure("a job ends Complete, Failed or Interrupted, not otherwise");
  if (Status restarts = check_attempt(result.restarts(), 0, job, now); !restarts)
    return tl::unexpected(restarts.error());
  JobResult kept;
  kept.set_result(how);
  kept.set_reason(known_reason(result.reason()));
  kept.set_message(readable(result.message(), kLongestText));
  kept.set_restarts(result.restarts());
  if (result.has_last_step()) {
    auto step = check_step(result.last_step(), job);
    if (!step) return tl::unexpected(step.error());
    *kept.mutable_last_step() = std::move(*step);
  }
  if (result.last_checkpoint().report().outcome() == CheckpointReport::Written) {
    auto saved = check_checkpoint(result.last_checkpoint(), job);
    if (!saved) return tl::unexpected(saved.error());
    *kept.mutable_last_checkpoint() = std::move(*saved);
  }
  return kept;
}

Result<JobReport> check_report(const JobReport& report, const JobFacts& job, TimePoint now) {
  if (const auto attempt = attempt_of(report)) {
    if (Status known = check_attempt(*attempt, 1, job, now); !known) return tl::unexpected(known.error());
  }
  switch (report.report_case()) {
    case JobReport::kAttemptStarted:
      return report_of(check_start(report.attempt_started(), job, now), &JobReport::mutable_attempt_started);
    case JobReport::kStep:
      return report_of(check_step(report.step(), job), &JobReport::mutable_step);
    case JobReport::kEvent:
      return report_of<JobEvent>(keep(report.event()), &JobReport::mutable_event);
    case JobReport::kResult:
      return report_of(check_result(report.result(), job, now), &JobReport::mutable_result);
    case JobReport::kCheckpoint:
      return report_of(check_checkpoint(report.checkpoint(), job), &JobReport::mutable_checkpoint);
    case JobReport::kRankStarted:  // read on one machine only
    case JobReport::REPORT_NOT_SET:
      break;
  }
  return JobReport();
}

}  // namespace caravan::controller
