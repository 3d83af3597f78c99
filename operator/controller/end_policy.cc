#include "operator/controller/end_policy.h"

#include <limits>

#include "common/json_of_any_version.h"
#include "operator/api/names.h"

namespace caravan::controller {
namespace {

using Course = Verdict::Course;

EndVerdict end_of(const v1alpha1::JobResult& result) {
  EndVerdict end;
  end.restarts = result.restarts();
  if (result.result() == reasons::kComplete) end.course = Course::kCompletes;
  if (result.result() == reasons::kFailed) end.course = Course::kFails;
  end.reason = end.course == Course::kCompletes ? reasons::kStepsReached : result.reason();
  end.message = result.message();
  if (result.has_last_step()) end.last_step = result.last_step();
  if (result.has_last_checkpoint()) end.last_checkpoint = result.last_checkpoint();
  return end;  // interrupted: its pods end, which is a loss
}

// JSON has no number for what is not finite.
v1alpha1::JobResult with_all_numbers(v1alpha1::JobResult told) {
  constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
  if (!told.has_last_step()) return told;
  v1alpha1::JobStep& step = *told.mutable_last_step();
  if (!step.has_loss()) step.set_loss(kNotANumber);
  if (!step.has_gradient_norm()) step.set_gradient_norm(kNotANumber);
  return told;
}

// By the exit code of its agent, whose words may have been cut off. One that says nothing may have been
// another program.
bool is_complete(const PodView& pod, const JobFacts& job, const std::optional<JobProgress>& progress) {
  const bool made_all_steps =
      job.steps > 0 && progress && progress->step && progress->step->step() >= job.steps;
  return pod.phase == PodPhase::kSucceeded && (!pod.last_words.empty() || made_all_steps);
}

}  // namespace

EndVerdict judge_end(const JobFacts& job, const std::optional<JobProgress>& progress,
                     const std::vector<PodView>& pods, TimePoint now) {
  if (progress && progress->result) {
    if (EndVerdict end = end_of(*progress->result); end.course != Course::kGoesOn) return end;
  }
  for (const PodView& pod : pods) {
    if (pod.node != 0 || !pod.ended()) continue;
    const auto told = from_json_of_any_version<v1alpha1::JobResult>(pod.last_words);
    const auto result = told.and_then(
        [&](const auto& words) { return check_result(with_all_numbers(words.message), job, now); });
    if (result) {
      if (EndVerdict end = end_of(*result); end.course != Course::kGoesOn) return end;
    }
    if (is_complete(pod, job, progress))
      return {
          {.course = Course::kCompletes, .reason = reasons::kStepsReached, .message = "all steps are done"}};
  }
  return {};
}

}  // namespace caravan::controller
