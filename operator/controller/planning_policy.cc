#include "operator/controller/planning_policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "operator/api/conditions.h"
#include "operator/api/job_conditions.h"
#include "operator/api/missing_claim.h"
#include "operator/api/names.h"
#include "operator/children/pod_resources.h"
#include "operator/controller/plan_record.h"
#include "operator/view/device_survey.h"
#include "operator/view/plan_status.h"
#include "operator/view/pool_choice.h"
#include "planner/engine_profile.h"
#include "planner/plan.h"

namespace caravan::controller {
namespace {

bool describes_its_devices(const v1alpha1::JobSpec& spec) {
  const v1alpha1::Device& device = spec.resources().device();
  return spec.resources().has_devices_per_node() && (!device.product().empty() || !device.memory().empty());
}

// The API server took what this operator refuses: one of them is of another version, and a later operator may
// know better.
std::optional<PlanVerdict> refuse_spec(const Job& job) {
  if (!job.unknown_fields.empty()) {
    return refuse_plan(
        reasons::kNewerSpec,
        fmt::format("{}: not known to this operator, which cannot tell whether that matters; the "
                    "job waits for a newer one, or create it again without",
                    fmt::join(job.unknown_fields, ", ")));
  }
  if (!job.mistakes.empty())
    return refuse_plan(reasons::kInvalidSpec, fmt::format("{}", fmt::join(job.mistakes, "; ")));
  return std::nullopt;
}

PlanVerdict make_plan(const Job& job, const std::vector<NodeView>& nodes) {
  const bool again = has_plan(job.status);
  const v1alpha1::PlanStatus& shown = job.status.plan();
  if (again) {
    const LayoutSizes sizes{shown.tensor(), shown.pipeline(), shown.data(), shown.micro_batch_size()};
    const std::string problem = problem_of(sizes, job.spec.resources());
    if (!problem.empty()) return refuse_plan(reasons::kDamagedPlan, "status.plan: " + problem);
  }
  DeviceSurvey survey = survey_devices(job, nodes);
  if (!survey.problem.empty()) {
    return survey.problem_lasts && !again
               ? refuse_plan(reasons::kInvalidSpec, survey.problem, Verdict::Course::kFails)
               : refuse_plan(reasons::kDoesNotFit, survey.problem);
  }
  if (again) {
    for (SurveyedJob& place : survey.places) fix_layout(shown, *place.spec.mutable_parallelism());
  }
  auto chosen = choose_place(survey.places);
  if (!chosen) {
    const bool does_not_fit = chosen.error().code == ExitCode::kDoesNotFit;
    return refuse_plan(
        does_not_fit ? reasons::kDoesNotFit : reasons::kInvalidSpec, chosen.error().message,
        !again && describes_its_devices(job.spec) ? Verdict::Course::kFails : Verdict::Course::kGoesOn);
  }
  v1alpha1::Plan& plan = chosen->plan;
  if (!chosen->why.empty()) plan.set_reason(fmt::format("{} {}", plan.reason(), chosen->why));
  if (again) {
    plan.set_source(shown.source());
    plan.set_reason(shown.reason());
  }
  return accept_plan(job, document_of(plan, chosen->gpu_product));
}

}  // namespace

PlanVerdict judge_plan(const Job& job, const std::vector<NodeView>& nodes) {
  if (!has_plan(job.status)) {
    if (auto refused = refuse_spec(job)) return *std::move(refused);
    if (const std::string missing = missing_claim(job.spec); !missing.empty())
      return refuse_plan(reasons::kInvalidSpec, missing + "; create the job again with one",
                         Verdict::Course::kFails);
    // What is wrong with the job whatever nodes come. It is not asked again of one that waits for nodes.
    const v1alpha1::Condition* planned = find_condition(job.status, conditions::kPlanned);
    const bool waits_for_nodes = planned != nullptr && planned->reason() == reasons::kDoesNotFit &&
                                 planned->observed_generation() == job.generation;
    if (!waits_for_nodes) {
      const Status checked = planner::check_job(job.spec, planner::default_engine_profile());
      if (!checked)
        return refuse_plan(reasons::kInvalidSpec, checked.error().message, Verdict::Course::kFails);
    }
  }
  return remembers_plan(job.status) ? accept_plan(job, job.status.plan().document()) : make_plan(job, nodes);
}

PlanVerdict plan_after_shortage(const Job& job, const v1alpha1::JobPlan& before,
                                const v1alpha1::MemoryCorrection& correction) {
  const v1alpha1::Plan& plan = before.plan();
  planner::DeviceFacts facts{.devices_per_node = plan.devices_per_node(),
                             .threads_per_rank = threads_per_rank(job.spec, plan.devices_per_node())};
  if (plan.usable_bytes() > 0) facts.memory_bytes = plan.usable_bytes();
  auto again = planner::plan_again({.plan = plan, .correction = correction}, before.spec(), facts,
                                   planner::default_engine_profile());
  if (!again) return refuse_plan(reasons::kDoesNotFit, again.error().message);
  return accept_plan(job, document_of(again->plan(), before.gpu_product()));
}

}  // namespace caravan::controller
