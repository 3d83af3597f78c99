#include "operator/controller/plan_record.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/json.h"
#include "operator/api/conditions.h"
#include "operator/api/names.h"
#include "operator/api/read_message.h"
#include "operator/view/worker_devices.h"
#include "planner/engine_profile.h"
#include "planner/job_shape.h"
#include "planner/memory/memory_model.h"
#include "planner/request.h"

namespace caravan::controller {
namespace {

// The schema's bounds.
constexpr int kMostDevicesPerNode = 16;
constexpr int kLargestMicroBatch = 65536;
constexpr std::size_t kLongestName = 63;

int nodes_of(const v1alpha1::Plan& plan) {
  return planner::spread(plan.devices(), plan.devices_per_node()).nodes;
}

// Empty when the plan is one of a job with these resources.
std::string problem_of(const v1alpha1::Plan& plan, const v1alpha1::Resources& resources) {
  std::string problem = problem_of(
      LayoutSizes{plan.tensor(), plan.pipeline(), plan.data(), plan.micro_batch_size()}, resources);
  if (!problem.empty()) return problem;
  if (plan.devices() != resources.devices()) return fmt::format("devices is {}", plan.devices());
  const int per_node = plan.devices_per_node();
  if (per_node < 1 || per_node > std::min(kMostDevicesPerNode, plan.devices()) ||
      (resources.has_devices_per_node() && per_node > resources.devices_per_node()))
    return fmt::format("devicesPerNode is {}", per_node);
  if (nodes_of(plan) > planner::kMaximumNodes)
    return fmt::format("it has {} nodes, and a job may have {}", nodes_of(plan), planner::kMaximumNodes);
  if (plan.layers_per_stage_size() != plan.pipeline())
    return fmt::format("layersPerStage has {} entries for {} stages", plan.layers_per_stage_size(),
                       plan.pipeline());
  if (std::max(plan.source().size(), plan.schedule().size()) > kLongestName)
    return "source and schedule must be short names";
  if (plan.peak_bytes() < 0 || plan.step_seconds() < 0 || plan.mfu() < 0 || plan.mfu() > 1)
    return "peakBytes and stepSeconds must be at least 0, and mfu from 0 to 1";
  return "";
}

template <typename Place>
void resolve_claim(Place& place, const char* folder) {
  if (place.claim_name().empty()) return;
  place.clear_claim_name();
  place.set_path(fmt::format("{}/{}", folder, place.path()));
}

// Claims become the folders that they are mounted at.
void resolve_claims(v1alpha1::JobSpec& spec) {
  if (spec.has_checkpoint()) resolve_claim(*spec.mutable_checkpoint(), kCheckpointFolder);
  if (spec.model().has_init_from()) resolve_claim(*spec.mutable_model()->mutable_init_from(), kWeightsFolder);
  v1alpha1::Data& data = *spec.mutable_data();
  if (!data.claim_name().empty() && !data.validation_path().empty())
    data.set_validation_path(fmt::format("{}/{}", kDataFolder, data.validation_path()));
  resolve_claim(data, kDataFolder);
}

// Ranks on processors share the memory of their pod, which users may change while the job is suspended. There
// is a limit also where it leaves nothing: 0 would be none.
void follow_memory(const v1alpha1::JobSpec& spec, v1alpha1::Plan& plan) {
  const v1alpha1::Device& device = spec.resources().device();
  const auto memory = memory_per_rank(spec, plan.devices_per_node());
  if (device.kind() != v1alpha1::Device::CPU || !device.memory().empty() || !memory) return;
  planner::DevicePool ranks;
  ranks.gpu = false;
  ranks.memory_bytes = memory;
  ranks.threads = threads_per_rank(spec, plan.devices_per_node());
  const auto usable = planner::usable_bytes(ranks, planner::default_engine_profile());
  plan.set_usable_bytes(std::max<std::int64_t>(1, usable.value_or(0)));
}

v1alpha1::JobPlan job_plan(const Job& job, v1alpha1::PlanRecord record) {
  v1alpha1::JobPlan result;
  result.set_job_name(job.key.name);
  result.set_job_uid(job.uid);
  *result.mutable_spec() = job.spec;
  resolve_claims(*result.mutable_spec());
  v1alpha1::Device& device = *result.mutable_spec()->mutable_resources()->mutable_device();
  if (device.product().empty() && device.memory().empty()) device.set_product(record.gpu_product());
  result.set_nodes(nodes_of(record.plan()));
  result.set_gpu_product(record.gpu_product());
  *result.mutable_plan() = std::move(*record.mutable_plan());
  follow_memory(job.spec, *result.mutable_plan());
  return result;
}

}  // namespace

bool has_plan(const v1alpha1::JobStatus& status) {
  return remembers_plan(status) || status.plan().tensor() > 0;
}

bool remembers_plan(const v1alpha1::JobStatus& status) {
  return !status.plan().document().empty();
}

bool is_planned_anew(const Job& job) {
  const v1alpha1::JobStatus& status = job.status;
  return status.attempt() == 0 && is_true(status, conditions::kSuspended) && !is_suspended_by_queue(status) &&
         status.observed_generation() != job.generation;
}

std::string problem_of(const LayoutSizes& sizes, const v1alpha1::Resources& resources) {
  if (std::min({sizes.tensor, sizes.pipeline, sizes.data, sizes.micro_batch_size}) < 1)
    return "tensor, pipeline, data and microBatchSize must be at least 1";
  const double devices = static_cast<double>(sizes.tensor) * sizes.pipeline * sizes.data;
  if (devices != resources.devices())
    return fmt::format("its layout is not one of the {} devices of the job", resources.devices());
  if (sizes.micro_batch_size > kLargestMicroBatch)
    return fmt::format("microBatchSize is {}", sizes.micro_batch_size);
  return "";
}

std::string document_of(const v1alpha1::Plan& plan, const std::string& gpu_product) {
  v1alpha1::PlanRecord record;
  *record.mutable_plan() = plan;
  record.mutable_plan()->clear_memory_per_stage();
  record.set_gpu_product(gpu_product);
  return to_json(record);
}

Result<RememberedPlan> read_document(const Job& job, const std::string& document) {
  const auto parsed = kube::parse_json(document, "it");
  if (!parsed) return tl::unexpected(parsed.error());
  RememberedPlan remembered;
  v1alpha1::PlanRecord record;
  if (const Status strict = read_message(*parsed, record, Unknown::kRefused); !strict) {
    record.Clear();
    if (const Status read = read_message(*parsed, record, Unknown::kFieldsDropped); !read)
      return tl::unexpected(read.error());
    remembered.unknown = strict.error().message;
  }
  if (const std::string problem = problem_of(record.plan(), job.spec.resources()); !problem.empty())
    return bad_input(problem);
  remembered.plan = job_plan(job, std::move(record));
  return remembered;
}

}  // namespace caravan::controller
