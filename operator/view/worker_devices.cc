#include "operator/view/worker_devices.h"

#include <algorithm>
#include <iterator>

#include "common/quantity.h"
#include "kube/api/names.h"
#include "operator/api/device_labels.h"
#include "planner/device/catalogue.h"

namespace caravan::controller {
namespace {

constexpr char kDevices[] = "devices";  // the claim that stands in for the extended resource

bool speaks_of(const v1alpha1::Worker& worker, const std::string& label) {
  return worker.node_selector().contains(label) ||
         std::ranges::any_of(worker.node_affinity(),
                             [&](const auto& requirement) { return requirement.key() == label; });
}

}  // namespace

int threads_per_rank(const v1alpha1::JobSpec& spec, int ranks_per_pod) {
  const auto cores = parse_quantity(spec.worker().resources().cpu());
  return cores ? std::max(1, static_cast<int>(*cores) / ranks_per_pod) : 1;
}

std::optional<std::int64_t> memory_per_rank(const v1alpha1::JobSpec& spec, int ranks_per_pod) {
  const auto memory = parse_quantity(spec.worker().resources().memory());
  return memory ? std::optional(*memory / ranks_per_pod) : std::nullopt;
}

bool has_claimed_devices(const v1alpha1::Worker& worker) {
  return std::ranges::any_of(worker.resource_claims(),
                             [](const auto& claim) { return claim.name() == kDevices; });
}

std::vector<std::string> wanted_products(const v1alpha1::JobSpec& spec) {
  const v1alpha1::Device& device = spec.resources().device();
  const auto known = planner::find_device(device.product());
  const bool is_gpu = device.kind() != v1alpha1::Device::CPU;
  if (!is_gpu || !known || has_claimed_devices(spec.worker()) ||
      speaks_of(spec.worker(), labels_of(device.resource_name()).product))
    return {};
  std::vector<std::string> values = {known->name};
  std::ranges::copy_if(known->labels, std::back_inserter(values),
                       [](const std::string& label) { return kube::is_label_value(label); });
  return values;
}

}  // namespace caravan::controller
