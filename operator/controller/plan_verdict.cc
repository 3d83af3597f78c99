#include "operator/controller/plan_verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/readable_bytes.h"
#include "operator/api/names.h"
#include "operator/controller/plan_record.h"
#include "planner/explain/checkpoints.h"

namespace caravan::controller {
namespace {

// What users should know of a job that is planned.
std::string say_no_checkpoint(const v1alpha1::JobSpec& spec) {
  return spec.has_checkpoint() ? "" : fmt::format(" {}", planner::kNoCheckpoints);
}

std::string say_checkpoint_trouble(const v1alpha1::JobSpec& spec, const v1alpha1::Plan& plan) {
  const std::string trouble = planner::checkpoints_trouble(spec, plan);
  return trouble.empty() ? "" : fmt::format(" {}.", trouble);
}

// Pods may have been given less since the job was planned.
std::string say_memory_trouble(const v1alpha1::Plan& plan) {
  if (plan.usable_bytes() == 0 || plan.peak_bytes() <= plan.usable_bytes()) return "";
  return fmt::format(
      " A rank needs {} and has {} of what its pod may take: raise spec.worker.resources.memory while the "
      "job "
      "is suspended.",
      readable_bytes(plan.peak_bytes()), readable_bytes(plan.usable_bytes()));
}

// Of a job that has a plan: what this operator would have said to it, had it been asked first.
std::string say_version_gaps(const Job& job, const std::string& unknown_of_plan) {
  std::string text;
  if (!job.unknown_fields.empty())
    text += fmt::format(" Not known to this operator, and left out of account: {}.",
                        fmt::join(job.unknown_fields, ", "));
  if (!unknown_of_plan.empty())
    text += fmt::format(" Left out of account in status.plan.document: {}.", unknown_of_plan);
  if (!job.mistakes.empty())
    text += fmt::format(" This operator would refuse the job today ({}); it goes on as it was planned.",
                        fmt::join(job.mistakes, "; "));
  return text;
}

}  // namespace

PlanVerdict refuse_plan(const std::string& reason, const std::string& message, Verdict::Course course) {
  return {{.course = course,
           .reason = reason,
           .message = message,
           .conditions = {set_condition(conditions::kPlanned, false, reason, message)}}};
}

PlanVerdict accept_plan(const Job& job, std::string document) {
  auto remembered = read_document(job, document);
  if (!remembered) {
    return refuse_plan(
        reasons::kDamagedPlan,
        fmt::format("status.plan.document holds no plan of this job ({}); what runs goes on, but no "
                    "pod is made; remove that field from the status, and the job is planned again "
                    "around the sizes in status.plan",
                    remembered.error().message));
  }
  const v1alpha1::Plan& plan = remembered->plan.plan();
  PlanVerdict verdict;
  verdict.reason = plan.source();
  verdict.message = plan.reason() + say_memory_trouble(plan) + say_no_checkpoint(job.spec) +
                    say_checkpoint_trouble(job.spec, plan) + say_version_gaps(job, remembered->unknown);
  verdict.conditions = {set_condition(conditions::kPlanned, true, verdict.reason, verdict.message)};
  verdict.document = std::move(document);
  verdict.plan = std::move(remembered->plan);
  return verdict;
}

}  // namespace caravan::controller
