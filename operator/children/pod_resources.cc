#include "operator/children/pod_resources.h"

#include <algorithm>

#include "common/quantity.h"

namespace caravan::controller {

using kube::JsonObject;

int threads_per_rank(const v1alpha1::JobSpec& spec, int ranks_per_pod) {
  const auto cores = parse_quantity(spec.worker().resources().cpu());
  return cores ? std::max(1, static_cast<int>(*cores) / ranks_per_pod) : 1;
}

JsonObject pod_resources(const Job& job, const v1alpha1::Worker& worker, int ranks) {
  JsonObject requests{{"ephemeral-storage", worker.scratch()}};
  JsonObject limits = requests;
  const v1alpha1::WorkerResources& given = worker.resources();
  if (!given.cpu().empty()) requests["cpu"] = given.cpu();
  if (!given.memory().empty()) requests["memory"] = limits["memory"] = given.memory();
  const v1alpha1::Device& device = job.spec.resources().device();
  if (device.kind() != v1alpha1::Device::CPU) {
    requests[device.resource_name()] = limits[device.resource_name()] = std::to_string(ranks);
  }
  return {{"requests", std::move(requests)}, {"limits", std::move(limits)}};
}

}  // namespace caravan::controller
