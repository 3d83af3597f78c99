#include "operator/controller/planning_policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "common/quantity.h"
#include "operator/api/names.h"
#include "operator/api/read_message.h"
#include "operator/children/job_objects.h"
#include "operator/children/worker_pod.h"
#include "operator/controller/device_survey.h"
#include "planner/engine_profile.h"
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

// Claims become the folders that they are mounted at.
void resolve_claims(v1alpha1::JobSpec& spec) {
  v1alpha1::Data& data = *spec.mutable_data();
  if (data.claim_name().empty()) return;
  data.clear_claim_name();
  data.set_path(fmt::format("{}/{}", kDataFolder, data.path()));
  if (!data.validation_path().empty())
    data.set_validation_path(fmt::format("{}/{}", kDataFolder, data.validation_path()));
}

PlanVerdict refuse(const std::string& reason, const std::string& message, bool final) {
  return {.reason = reason, .message = message, .final = final};
}

v1alpha1::JobPlan job_plan(const Job& job, const v1alpha1::JobSpec& spec, const v1alpha1::Plan& plan,
                           const std::string& gpu_product) {
  v1alpha1::JobPlan result;
  result.set_job_name(job.key.name);
  result.set_job_uid(job.uid);
  *result.mutable_spec() = spec;
  resolve_claims(*result.mutable_spec());
  *result.mutable_plan() = plan;
  const int per_node = std::max(1, std::min(plan.devices_per_node(), plan.devices()));
  result.set_nodes((plan.devices() + per_node - 1) / per_node);
  result.set_gpu_product(gpu_product);
  return result;
}

// Empty when this version can do what the job wants of the cluster.
std::string missing_feature(const v1alpha1::JobSpec& spec) {
  const auto provider = spec.scheduling().gang().provider();
  if (provider == v1alpha1::Gang::ProviderUnspecified || provider == v1alpha1::Gang::None) return "";
  return fmt::format(
      "spec.scheduling.gang.provider: {} is not available yet in this version (gang scheduling); use None, "
      "which "
      "may be set while the job is suspended",
      v1alpha1::Gang::Provider_Name(provider));
}

// What users should know of a job that is planned.
std::string remarks_on(const v1alpha1::JobSpec& spec) {
  std::string remarks;
  if (!spec.has_checkpoint()) remarks += " Without spec.checkpoint a restart begins at the first step.";
  if (!spec.scheduling().queue().empty())
    remarks += " spec.scheduling.queue is not used: this version knows no queueing system.";
  return remarks;
}

PlanVerdict accept(v1alpha1::JobPlan plan) {
  PlanVerdict verdict{.reason = plan.plan().source(),
                      .message = plan.plan().reason() + remarks_on(plan.spec())};
  verdict.plan = std::move(plan);
  return verdict;
}

// The plan that was made, with what users may change since.
std::optional<v1alpha1::JobPlan> carried_over(const Job& job, const PlanView& made) {
  const auto document = kube::parse_json(made.plan, kPlanKey);
  v1alpha1::JobPlan plan;
  if (!document || !read_message(*document, plan, UnknownFields::kRefused) || plan.job_uid() != job.uid)
    return std::nullopt;
  v1alpha1::JobSpec spec = job.spec;
  spec.mutable_resources()->CopyFrom(plan.spec().resources());
  return job_plan(job, spec, plan.plan(), plan.gpu_product());
}

}  // namespace

PlanVerdict judge_plan(const Job& job, const std::vector<NodeView>& nodes,
                       const std::optional<PlanView>& made) {
  if (!job.mistakes.empty())
    return refuse(reasons::kInvalidSpec, fmt::format("{}", fmt::join(job.mistakes, "; ")), true);
  if (const std::string missing = missing_feature(job.spec); !missing.empty())
    return refuse(reasons::kInvalidSpec, missing, false);
  if (made) {
    if (auto plan = carried_over(job, *made)) return accept(std::move(*plan));
    return refuse(
        reasons::kInvalidSpec,
        fmt::format("configmap {} holds no plan of this job; delete it, and it is made anew", plan_name(job)),
        false);
  }
  const Surveyed surveyed = survey(job, nodes);
  if (!surveyed.problem.empty()) return refuse(reasons::kDoesNotFit, surveyed.problem, false);
  const auto answer = planner::plan_job(surveyed.spec, surveyed.facts, planner::default_engine_profile());
  if (answer) return accept(job_plan(job, surveyed.spec, answer->plan(), surveyed.gpu_product));
  const bool final = describes_its_devices(job.spec);
  const bool does_not_fit = answer.error().code == ExitCode::kDoesNotFit;
  return refuse(does_not_fit ? reasons::kDoesNotFit : reasons::kInvalidSpec, answer.error().message, final);
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
