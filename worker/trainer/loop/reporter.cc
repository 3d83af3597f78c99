#include "worker/trainer/loop/reporter.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>

#include "caravan/v1alpha1/rank.pb.h"
#include "common/json.h"
#include "planner/memory/terms_message.h"
#include "proto/caravan/v1alpha1/reasons.h"
#include "proto/caravan/v1alpha1/step_phases.h"
#include "worker/trainer/loop/seconds_since.h"

namespace caravan::trainer {
namespace {

using v1alpha1::RankReport;

// The thread that writes a line may be the one that is stuck.
constexpr std::chrono::seconds kLineTimeout{1};

void write(const SavedTensorRecord& record, v1alpha1::SavedTensor& tensor) {
  tensor.set_name(record.name);
  tensor.set_shape(record.shape);
  tensor.set_dtype(record.dtype);
  tensor.set_bytes(record.bytes);
  tensor.set_policy(record.policy);
}

void write(const CollectiveRecord& record, v1alpha1::CollectiveCount& count) {
  count.set_operation(record.operation);
  count.set_axis(record.axis);
  count.set_bytes(record.bytes);
  count.set_seconds(record.seconds);
}

double work_seconds(const PhaseClock::Seconds& seconds) {
  double work = 0;
  for (const Phase phase :
       {Phase::kData, Phase::kForward, Phase::kBackward, Phase::kOptimizer, Phase::kEvaluation})
    work += seconds[static_cast<std::size_t>(phase)];
  return work;
}

void write(const StepRecord& record, v1alpha1::StepReport& step) {
  step.set_step(record.step);
  if (record.loss) step.set_loss(*record.loss);
  if (record.validation_loss) step.set_validation_loss(*record.validation_loss);
  step.set_gradient_norm(record.gradient_norm);
  step.set_learning_rate(record.learning_rate);
  step.set_skipped(record.skipped);
  step.set_seconds(record.seconds);
  step.set_tokens(record.tokens);
  step.set_rank_tokens(record.rank_tokens);
  step.set_model_flops(record.model_flops);
  step.set_hardware_flops(record.hardware_flops);
  static_assert(kStepPhases.size() == kPhases);
  for (std::size_t i = 0; i < kPhases; ++i)
    (step.mutable_phase_seconds()->*kStepPhases[i].set)(record.phase_seconds[i]);
  for (const CollectiveRecord& collective : record.collectives) write(collective, *step.add_collectives());
  step.set_allocated_bytes(record.allocated_bytes);
  step.set_reserved_bytes(record.reserved_bytes);
  step.set_peak_bytes(record.peak_bytes);
  step.set_work_seconds(work_seconds(record.phase_seconds));
}

v1alpha1::CheckpointReport::Outcome outcome_message(CheckpointOutcome outcome) {
  using Message = v1alpha1::CheckpointReport;
  switch (outcome) {
    case CheckpointOutcome::Written:
      return Message::Written;
    case CheckpointOutcome::Resumed:
      return Message::Resumed;
    case CheckpointOutcome::Failed:
      return Message::Failed;
    case CheckpointOutcome::Unusable:
      return Message::Unusable;
    case CheckpointOutcome::Answered:
      return Message::Answered;
  }
  return Message::OutcomeUnspecified;
}

}  // namespace

std::string_view failure_reason_name(FailureReason reason) {
  switch (reason) {
    case FailureReason::InvalidInput:
      return reasons::kRankInvalidInput;
    case FailureReason::DataUnavailable:
      return reasons::kRankDataUnavailable;
    case FailureReason::NonFiniteLoss:
      return reasons::kNonFiniteLoss;
    case FailureReason::OutOfMemory:
      return reasons::kOutOfMemory;
    case FailureReason::Communication:
      return reasons::kRankCommunication;
    case FailureReason::SilentCorruption:
      return reasons::kSilentCorruption;
    case FailureReason::Internal:
      return reasons::kRankInternal;
  }
  return reasons::kRankInternal;
}

Reporter::Reporter(int fd) : fd_(fd >= 0 ? fd : STDOUT_FILENO) {}

void Reporter::started(const StartRecord& record) const {
  RankReport report;
  v1alpha1::RankStarted& started = *report.mutable_started();
  started.set_rank(record.rank);
  started.set_process_id(getpid());
  started.set_local_parameters(record.local_parameters);
  for (const SavedTensorRecord& tensor : record.saved) write(tensor, *started.add_saved());
  started.set_allocated_bytes(record.allocated_bytes);
  write_line(to_json(report));
}

void Reporter::step(const StepRecord& record) const {
  RankReport report;
  write(record, *report.mutable_step());
  write_line(to_json(report));
}

void Reporter::finished(const FinishRecord& record) const {
  RankReport report;
  v1alpha1::RankFinished& finished = *report.mutable_finished();
  finished.set_step(record.step);
  finished.set_peak_bytes(record.peak.total());
  *finished.mutable_peak_terms() = planner::terms_message(record.peak);
  write_line(to_json(report));
}

void Reporter::failed(FailureReason reason, const std::string& message,
                      const std::optional<ShortageRecord>& shortage) const {
  RankReport report;
  v1alpha1::RankFailure& failure = *report.mutable_failure();
  failure.set_reason(std::string(failure_reason_name(reason)));
  failure.set_message(message);
  if (shortage) {
    failure.mutable_shortage()->set_term(shortage->term);
    failure.mutable_shortage()->set_planned_bytes(shortage->planned_bytes);
    failure.mutable_shortage()->set_used_bytes(shortage->used_bytes);
  }
  write_line(to_json(report));
}

void Reporter::checkpoint(const CheckpointRecord& record) const {
  RankReport report;
  v1alpha1::CheckpointReport& checkpoint = *report.mutable_checkpoint();
  checkpoint.set_outcome(outcome_message(record.outcome));
  checkpoint.set_step(record.step);
  checkpoint.set_path(record.path);
  checkpoint.set_seconds(record.seconds);
  checkpoint.set_stall_seconds(record.stall_seconds);
  checkpoint.set_bytes(record.bytes);
  checkpoint.set_message(record.message);
  checkpoint.set_request(record.request);
  write_line(to_json(report));
}

void Reporter::interlude(int delayed_step, bool goes_on) const {
  RankReport report;
  report.mutable_interlude()->set_delayed_step(delayed_step);
  report.mutable_interlude()->set_goes_on(goes_on);
  write_line(to_json(report));
}

void Reporter::activity(const Activity& activity, const std::optional<Saving>& saving) const {
  RankReport report;
  v1alpha1::RankActivity& told = *report.mutable_activity();
  told.set_phase(activity.phase);
  told.set_operation(activity.operation);
  told.set_axis(activity.axis);
  if (activity.peer) told.set_peer(*activity.peer);
  told.set_seconds(seconds_since(activity.since));
  if (saving) {
    told.mutable_saving()->set_doing(saving->doing);
    told.mutable_saving()->set_seconds(seconds_since(saving->since));
  }
  // Without the lock the line is still written at once, since it is shorter than PIPE_BUF.
  const std::unique_lock lock(mutex_, kLineTimeout);
  write_whole(to_json(report) + '\n');
}

void Reporter::write_line(const std::string& json) const {
  const std::scoped_lock lock(mutex_);
  write_whole(json + '\n');
}

void Reporter::write_whole(const std::string& line) const {
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = ::write(fd_, line.data() + written, line.size() - written);
    if (count > 0) written += static_cast<std::size_t>(count);
    if (count < 0 && errno != EINTR) _exit(EXIT_FAILURE);
  }
}

}  // namespace caravan::trainer
