#include "operator/view/progress_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "common/json.h"
#include "common/quantity.h"
#include "operator/api/names.h"
#include "proto/caravan/v1alpha1/step_speed.h"
#include "report_text/checkpoint_line.h"

namespace caravan::controller {
namespace {

constexpr double kMostSeconds = 2e9;
// No peak of the device is known; a column without a value would be blank.
constexpr const char* kNoMfu = "-";

std::int64_t fullest(const v1alpha1::JobStep& step) {
  const auto& peaks = step.peak_bytes_per_rank();
  return peaks.empty() ? 0 : *std::max_element(peaks.begin(), peaks.end());
}

std::string shown_loss(double loss) {
  if (std::isnan(loss)) return "NaN";
  if (std::isinf(loss)) return loss > 0 ? "Infinity" : "-Infinity";
  return json_number(loss);
}

std::string from_checkpoint(std::optional<int> resumed_step) {
  return resumed_step ? fmt::format(", from the checkpoint of step {} on", *resumed_step) : "";
}

}  // namespace

void announce_steps(const v1alpha1::JobSpec& spec, v1alpha1::JobStatus& status) {
  if (status.has_progress()) return;
  v1alpha1::ProgressStatus& shown = *status.mutable_progress();
  shown.set_step(0);
  shown.set_steps(spec.training().steps());
  shown.set_percent(0);
  shown.set_mfu_percent(kNoMfu);
}

void show_step(const v1alpha1::JobSpec& spec, const v1alpha1::JobStep& step, TimePoint now,
               v1alpha1::ProgressStatus& shown) {
  const int steps = spec.training().steps();
  const double remaining = std::min(std::max(0, steps - step.step()) * expected_seconds(step), kMostSeconds);
  shown.Clear();
  shown.set_step(step.step());
  shown.set_steps(steps);
  shown.set_percent(static_cast<int>(std::int64_t{100} * step.step() / std::max(1, steps)));
  shown.set_estimated_remaining_seconds(static_cast<int>(std::ceil(remaining)));
  shown.set_loss(shown_loss(step.loss()));
  shown.set_mfu_percent(step.has_mfu() ? fmt::format("{:.1f}", 100 * usual_mfu(step)) : kNoMfu);
  shown.set_tokens_per_second(fmt::format("{:.0f}", usual_tokens_per_second(step)));
  if (const std::int64_t peak = fullest(step); peak > 0)
    shown.set_peak_memory_per_device(readable_quantity(peak));
  shown.set_last_update_time(to_text(now));
}

ConditionChange ranks_start(int attempt, std::optional<int> resumed_step) {
  return set_condition(conditions::kRunning, true, reasons::kRendezvous,
                       fmt::format("attempt {}: the ranks start{}", attempt, from_checkpoint(resumed_step)));
}

ConditionChange steps_advance(int attempt, std::optional<int> resumed_step) {
  return set_condition(conditions::kRunning, true, reasons::kStepsAdvancing,
                       fmt::format("attempt {} makes steps{}", attempt, from_checkpoint(resumed_step)));
}

ConditionChange ends_with_attempt(const char* condition, int started_attempt) {
  return clear_condition(condition, reasons::kAttemptStarted,
                         fmt::format("attempt {} has started", started_attempt));
}

ConditionChange save_failed(const v1alpha1::CheckpointReport& report) {
  return set_condition(conditions::kCheckpointFailing, true, reasons::kSaveFailed, failed_save_text(report));
}

ConditionChange save_complete(int step) {
  return clear_condition(conditions::kCheckpointFailing, reasons::kSaved,
                         fmt::format("the checkpoint of step {} is complete", step));
}

std::vector<v1alpha1::CheckpointStatus> checkpoints_of(const v1alpha1::JobStatus& status) {
  if (status.checkpoints().empty() && status.has_last_checkpoint()) return {status.last_checkpoint()};
  return {status.checkpoints().begin(), status.checkpoints().end()};
}

void show_checkpoint(const v1alpha1::JobSpec& spec, int step, TimePoint at, v1alpha1::JobStatus& status) {
  v1alpha1::CheckpointStatus saved;
  saved.set_step(step);
  saved.set_path(fmt::format("{}/step-{:06}", spec.checkpoint().path(), step));
  saved.set_time(to_text(at));
  std::vector<v1alpha1::CheckpointStatus> kept{saved};
  const auto most = std::min<std::size_t>(kMostCheckpointsShown, spec.checkpoint().keep_last());
  for (const v1alpha1::CheckpointStatus& earlier : checkpoints_of(status)) {
    if (earlier.step() < step && kept.size() < most) kept.push_back(earlier);
  }
  status.mutable_checkpoints()->Assign(kept.begin(), kept.end());
  *status.mutable_last_checkpoint() = std::move(saved);
}

}  // namespace caravan::controller
