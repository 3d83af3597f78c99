#include "operator/controller/planning_policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "common/quantity.h"
#include "operator/api/names.h"
#include "operator/children/worker_pod.h"
#include "operator/controller/device_survey.h"
#include "operator/controller/plan_record.h"
#include "planner/engine_profile.h"
#include "planner/explain/checkpoints.h"
#include "planner/plan.h"

namespace caravan::controller {
namespace {

constexpr int kCpuRanksPerPod = 16;  // where the job does not say

bool describes_its_devices(const v1alpha1::JobSpec& spec) {
  const v1alpha1::Device& device = spec.resources().device();
  return spec.resources().has_devices_per_node() && (!device.product().empty() || !device.memory().empty());
}

struct Surveyed {
  v1alpha1::JobSpec spec;  // with what the nodes say filled in
  planner::DeviceFacts facts;
  std::string gpu_product = {};  // label value; empty: pods may go to any node
  std::string problem = {};
};

Surveyed survey_processors(const Job& job, const std::vector<NodeView>& nodes) {
  const v1alpha1::Resources& resources = job.spec.resources();
  const int per_node = resources.has_devices_per_node() ? resources.devices_per_node() : kCpuRanksPerPod;
  const int ranks = std::min(per_node, resources.devices());
  const auto asked = parse_quantity(job.spec.worker().resources().memory());
  const auto memory = asked ? std::optional(*asked) : memory_of_a_node(job.spec, nodes);
  planner::DeviceFacts facts{.devices_per_node = per_node,
                             .threads_per_rank = threads_per_rank(job.spec, ranks)};
  if (memory) facts.memory_bytes = *memory / ranks;
  return {.spec = job.spec, .facts = facts};
}

Surveyed survey(const Job& job, const std::vector<NodeView>& nodes) {
  Surveyed result{.spec = job.spec, .facts = {}};
  v1alpha1::Device& device = *result.spec.mutable_resources()->mutable_device();
  if (device.kind() == v1alpha1::Device::CPU) return survey_processors(job, nodes);
  const DeviceSurvey found = survey_gpus(job.spec, nodes);
  result.facts.devices_per_node = found.devices_per_node;
  result.facts.memory_bytes = found.memory_bytes;
  const bool said = !device.product().empty() || !device.memory().empty();
  if (!said && !found.devices_per_node) {
    result.problem = fmt::format(
        "no node that is ready offers {}; add such a node, or describe the devices in spec.resources.device "
        "(product, memory)",
        device.resource_name());
  }
  if (!said || !device.product().empty()) result.gpu_product = found.product;
  if (!said) device.set_product(found.product);
  return result;
}

PlanVerdict refuse(const std::string& reason, const std::string& message, bool final) {
  return {.reason = reason, .message = message, .final = final};
}

// What users should know of a job that is planned.
std::string remarks_on(const v1alpha1::JobSpec& spec) {
  return spec.has_checkpoint() ? "" : " Without spec.checkpoint a restart begins at the first step.";
}

std::string remark_on_checkpoints(const v1alpha1::JobSpec& spec, const v1alpha1::Plan& plan) {
  const std::string trouble = planner::checkpoints_trouble(spec, plan);
  return trouble.empty() ? "" : fmt::format(" {}.", trouble);
}

// Of a job that has a plan: what this operator would have said to it, had it been asked first.
std::string remarks_on_versions(const Job& job, const std::string& unknown_of_plan) {
  std::string remarks;
  if (!job.unknown_fields.empty())
    remarks += fmt::format(" Not known to this operator, and left out of account: {}.",
                           fmt::join(job.unknown_fields, ", "));
  if (!unknown_of_plan.empty())
    remarks += fmt::format(" Left out of account in status.plan.document: {}.", unknown_of_plan);
  if (!job.mistakes.empty())
    remarks += fmt::format(" This operator would refuse the job today ({}); it goes on as it was planned.",
                           fmt::join(job.mistakes, "; "));
  return remarks;
}

PlanVerdict accept(const Job& job, std::string document) {
  auto remembered = read_document(job, document);
  if (!remembered) {
    return refuse(
        reasons::kDamagedPlan,
        fmt::format("status.plan.document holds no plan of this job ({}); what runs goes on, but no "
                    "pod is made; remove that field from the status, and the job is planned again "
                    "around the sizes in status.plan",
                    remembered.error().message),
        false);
  }
  const v1alpha1::Plan& plan = remembered->plan.plan();
  PlanVerdict verdict{.document = std::move(document),
                      .reason = plan.source(),
                      .message = plan.reason() + remarks_on(job.spec) +
                                 remark_on_checkpoints(job.spec, plan) +
                                 remarks_on_versions(job, remembered->unknown)};
  verdict.plan = std::move(remembered->plan);
  return verdict;
}

// What an operator before this one showed of its plan.
void fix_layout(const v1alpha1::PlanStatus& shown, v1alpha1::Parallelism& parallelism) {
  parallelism.set_tensor(shown.tensor());
  parallelism.set_pipeline(shown.pipeline());
  parallelism.set_data(shown.data());
  parallelism.set_micro_batch_size(shown.micro_batch_size());
  parallelism.set_schedule(shown.schedule());
  if (shown.has_virtual_stages()) parallelism.set_virtual_stages(shown.virtual_stages());
  if (shown.has_segments()) parallelism.set_segments(shown.segments());
  parallelism.set_activation_checkpointing(shown.checkpointing());
}

// The API server took what this operator refuses: one of them is of another version, and a later operator may
// know better.
std::optional<PlanVerdict> refuse_spec(const Job& job) {
  if (!job.unknown_fields.empty()) {
    return refuse(reasons::kNewerSpec,
                  fmt::format("{}: not known to this operator, which cannot tell whether that matters; the "
                              "job waits for a newer one, or create it again without",
                              fmt::join(job.unknown_fields, ", ")),
                  false);
  }
  if (!job.mistakes.empty())
    return refuse(reasons::kInvalidSpec, fmt::format("{}", fmt::join(job.mistakes, "; ")), false);
  return std::nullopt;
}

// What a pod reads or writes beside its data; the schema cannot ask for a claim that local mode has not.
std::string missing_claim(const v1alpha1::JobSpec& spec) {
  if (spec.has_checkpoint() && spec.checkpoint().claim_name().empty()) {
    return "spec.checkpoint.claimName: must be set on a cluster, since a pod's own files go with it; "
           "create the job again with a claim that all its pods can write to";
  }
  if (spec.model().has_init_from() && spec.model().init_from().claim_name().empty()) {
    return "spec.model.initFrom.claimName: must be set on a cluster, since a pod has no such folder of its "
           "own; create the job again with a claim that holds it";
  }
  return "";
}

PlanVerdict make_plan(const Job& job, const std::vector<NodeView>& nodes) {
  const bool again = has_plan(job.status);
  const v1alpha1::PlanStatus& shown = job.status.plan();
  if (again) {
    const LayoutSizes sizes{shown.tensor(), shown.pipeline(), shown.data(), shown.micro_batch_size()};
    const std::string problem = problem_of(sizes, job.spec.resources());
    if (!problem.empty()) return refuse(reasons::kDamagedPlan, "status.plan: " + problem, false);
  }
  Surveyed surveyed = survey(job, nodes);
  if (!surveyed.problem.empty()) return refuse(reasons::kDoesNotFit, surveyed.problem, false);
  if (again) fix_layout(shown, *surveyed.spec.mutable_parallelism());
  auto answer = planner::plan_job(surveyed.spec, surveyed.facts, planner::default_engine_profile());
  if (!answer) {
    const bool does_not_fit = answer.error().code == ExitCode::kDoesNotFit;
    return refuse(does_not_fit ? reasons::kDoesNotFit : reasons::kInvalidSpec, answer.error().message,
                  !again && describes_its_devices(job.spec));
  }
  v1alpha1::Plan& plan = *answer->mutable_plan();
  if (again) {
    plan.set_source(shown.source());
    plan.set_reason(shown.reason());
  }
  return accept(job, document_of(plan, surveyed.gpu_product));
}

}  // namespace

PlanVerdict judge_plan(const Job& job, const std::vector<NodeView>& nodes) {
  if (!has_plan(job.status)) {
    if (auto refused = refuse_spec(job)) return *std::move(refused);
    if (const std::string missing = missing_claim(job.spec); !missing.empty())
      return refuse(reasons::kInvalidSpec, missing, true);
  }
  return remembers_plan(job.status) ? accept(job, job.status.plan().document()) : make_plan(job, nodes);
}

void show_plan(const v1alpha1::Plan& plan, v1alpha1::JobStatus& status) {
  v1alpha1::PlanStatus& shown = *status.mutable_plan();
  shown.Clear();
  shown.set_tensor(plan.tensor());
  shown.set_pipeline(plan.pipeline());
  shown.set_data(plan.data());
  shown.set_micro_batch_size(plan.micro_batch_size());
  shown.set_gradient_accumulation(plan.gradient_accumulation());
  shown.set_checkpointing(plan.activation_checkpointing());
  shown.set_schedule(plan.schedule());
  if (plan.virtual_stages() > 1) shown.set_virtual_stages(plan.virtual_stages());
  if (plan.segment_tokens_size() > 1) shown.set_segments(plan.segment_tokens_size());
  shown.set_source(plan.source());
  shown.set_reason(plan.reason().substr(0, 1024));
  status.set_layout(fmt::format("TP{} PP{} DP{}", plan.tensor(), plan.pipeline(), plan.data()));
  v1alpha1::PredictedStatus& predicted = *status.mutable_predicted();
  predicted.Clear();
  predicted.set_memory_per_device(readable_quantity(plan.peak_bytes()));
  if (plan.has_mfu()) predicted.set_mfu_percent(fmt::format("{:.1f}", 100 * plan.mfu()));
  if (plan.has_step_seconds()) {
    const double milliseconds = std::min(std::ceil(1000 * plan.step_seconds()), 2e9);
    predicted.set_step_milliseconds(static_cast<int>(milliseconds));
  }
}

}  // namespace caravan::controller
