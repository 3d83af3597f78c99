#include "operator/controller/progress_policy.h"

#include <fmt/format.h>

#include "operator/api/conditions.h"
#include "operator/api/names.h"
#include "operator/controller/told_failure.h"
#include "operator/view/progress_status.h"

namespace caravan::controller {
namespace {

constexpr std::chrono::seconds kBetweenWrites{30};

// The latest that fit into a message.
std::string told_of(const std::vector<v1alpha1::JobEvent>& stragglers) {
  constexpr std::size_t kLongestMessage = 1000;
  std::string text;
  for (auto event = stragglers.rbegin(); event != stragglers.rend(); ++event) {
    if (text.size() + event->message().size() + 2 > kLongestMessage) break;
    if (!text.empty()) text += "; ";
    text += event->message();
  }
  return text;
}

// Values of annotations repeat from job to job, and jobs may have one folder after another.
std::string name_of_request(const Job& job) {
  return fmt::format("{}/{}", job.uid, job.checkpoint_request);
}

}  // namespace

void follow_attempts(const v1alpha1::JobSpec& spec, const JobProgress& progress,
                     const std::vector<PodView>& pods, int generation, TimePoint now,
                     v1alpha1::JobStatus& status) {
  if (progress.attempt < status.attempt() || progress.attempt == 0) return;
  Conditions conditions(status, generation, now);
  count_told_restarts(spec.failure_policy(), progress, pods, progress.attempt, now, status);
  if (progress.short_attempts) status.set_short_attempts(*progress.short_attempts);
  conditions.write(ends_with_attempt(conditions::kRestarting, progress.attempt));
  if (progress.stragglers.empty()) {
    conditions.write(ends_with_attempt(conditions::kStraggling, progress.attempt));
  } else {
    conditions.set(conditions::kStraggling, true, reasons::kStraggler, told_of(progress.stragglers));
  }
  if (!progress.step) return conditions.write(ranks_start(progress.attempt, progress.resumed_step));
  conditions.write(steps_advance(progress.attempt, progress.resumed_step));
  conditions.clear(conditions::kStalled, reasons::kStepsAdvancing, "steps are made again");
}

void follow_saves(const JobProgress& progress, int generation, TimePoint now, v1alpha1::JobStatus& status) {
  Conditions conditions(status, generation, now);
  if (progress.failed_save) {
    conditions.write(save_failed(*progress.failed_save));
  } else if (!progress.checkpoints.empty()) {
    conditions.write(save_complete(progress.checkpoints.back().step));
  }
}

std::optional<std::string> wanted_checkpoint(const Job& job, const v1alpha1::JobStatus& status) {
  const std::string& wish = job.checkpoint_request;
  const bool is_wanted = !wish.empty() && wish.size() <= kLongestCheckpointRequest &&
                         wish != status.checkpoint_request() && job.spec.has_checkpoint() &&
                         makes_steps(status);
  return is_wanted ? std::optional(name_of_request(job)) : std::nullopt;
}

void follow_request(const Job& job, const JobProgress& progress, v1alpha1::JobStatus& status) {
  if (progress.answered_request == name_of_request(job))
    status.set_checkpoint_request(job.checkpoint_request);
}

LookAgain show_progress(const v1alpha1::JobSpec& spec, const JobProgress& progress, bool urgent,
                        TimePoint now, v1alpha1::JobStatus& status) {
  const bool new_step = progress.step && progress.step->step() != status.progress().step();
  const bool new_checkpoint =
      !progress.checkpoints.empty() && progress.checkpoints.back().step != status.last_checkpoint().step();
  if (!new_step && !new_checkpoint) return std::nullopt;
  const auto last = to_time(status.progress().last_update_time());
  if (!urgent && last && now < *last + kBetweenWrites) {
    return until(*last + kBetweenWrites, now);
  }
  if (new_step) show_step(spec, *progress.step, now, *status.mutable_progress());
  if (new_checkpoint) {
    for (const SavedStep& saved : progress.checkpoints) show_checkpoint(spec, saved.step, saved.at, status);
  }
  return std::nullopt;
}

}  // namespace caravan::controller
