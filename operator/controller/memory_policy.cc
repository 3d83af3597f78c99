#include "operator/controller/memory_policy.h"

#include <fmt/format.h>

#include "operator/api/names.h"
#include "operator/children/job_objects.h"
#include "planner/report.h"
#include "planner/search/reasons.h"
#include "policy/memory_shortage.h"

namespace caravan::controller {
namespace {

std::string label_of(const v1alpha1::JobPlan& plan) {
  return planner::layout_label(planner::layout_value(plan.plan()));
}

// Of the attempt that ended last, as the coordinator told when it ended or, to whoever missed that, with the
// next one.
std::optional<v1alpha1::MemoryCorrection> last_shortage(const JobProgress& progress) {
  if (const auto& event = progress.event; event && event->restarting() && event->has_shortage())
    return policy::correction_of(event->shortage(), event->attempt());
  if (progress.ended.empty() || !progress.ended.back().has_shortage()) return std::nullopt;
  return policy::correction_of(progress.ended.back().shortage(), progress.ended.back().attempt());
}

}  // namespace

std::optional<v1alpha1::MemoryCorrection> wanted_correction(const v1alpha1::JobStatus& status,
                                                            const JobProgress& progress) {
  if (status.has_memory_correction()) return std::nullopt;
  auto wanted = last_shortage(progress);
  if (!wanted || wanted->attempt() < status.attempt()) return std::nullopt;
  const bool goes_on = progress.attempt > wanted->attempt() &&
                       (progress.attempt > wanted->attempt() + 1 || progress.step.has_value());
  return goes_on ? std::nullopt : wanted;
}

ShortageVerdict judge_shortage(const Job& job, const v1alpha1::JobPlan& before,
                               const v1alpha1::MemoryCorrection& wanted, const FailureVerdict& told) {
  PlanVerdict again = plan_after_shortage(job, before, wanted);
  ShortageVerdict verdict;
  verdict.correction = wanted;
  const std::string grew = fmt::format("{} took {} % of what was planned", wanted.term(), wanted.percent());
  if (again.plan) {
    verdict.message = fmt::format("{}, so the layout is {} from now on, in place of {}", grew,
                                  label_of(*again.plan), label_of(before));
    verdict.conditions = std::move(again.conditions);
  } else {
    verdict.correction.clear_attempt();
    verdict.message = fmt::format("{}, but the layout stays {}: {}", grew, label_of(before), again.message);
  }
  const bool restarts = told.next_attempt == wanted.attempt() + 1;
  if (restarts) verdict.message += "; " + told.message;
  if (again.plan || restarts) announce_restart(reasons::kOutOfMemory, verdict);
  verdict.plan = std::move(again.plan);
  verdict.document = std::move(again.document);
  return verdict;
}

bool has_old_layout(const PodView& pod, const v1alpha1::JobStatus& status) {
  return pod.attempt < first_attempt_of_plan(status);
}

bool is_of_a_new_layout(int attempt, const v1alpha1::JobStatus& status) {
  return attempt > 1 && attempt == first_attempt_of_plan(status);
}

}  // namespace caravan::controller
