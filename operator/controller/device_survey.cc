#include "operator/controller/device_survey.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/quantity.h"
#include "operator/api/names.h"
#include "operator/children/pod_resources.h"
#include "planner/device/catalogue.h"

namespace caravan::controller {
namespace {

constexpr int kCpuRanksPerPod = 16;  // where the job does not say

std::string label(const NodeView& node, const char* key) {
  const auto found = node.labels.find(key);
  return found == node.labels.end() ? "" : found->second;
}

bool is_wanted(const NodeView& node, const v1alpha1::JobSpec& spec) {
  const auto& selector = spec.worker().node_selector();
  return node.usable && std::all_of(selector.begin(), selector.end(), [&](const auto& wanted) {
           return label(node, wanted.first.c_str()) == wanted.second;
         });
}

std::int64_t offered(const NodeView& node, const std::string& resource) {
  const auto found = node.allocatable.find(resource);
  return found == node.allocatable.end() ? 0 : found->second;
}

// Jobs write the catalogue's name or the label's.
bool same_product(const std::string& left, const std::string& right) {
  const auto a = planner::find_device(left);
  const auto b = planner::find_device(right);
  return left == right || (a && b && a->name == b->name);
}

struct Group {
  std::int64_t devices = 0;
  std::int64_t per_node = 0;
  std::optional<std::int64_t> memory_bytes;
};

// Of the roomiest node.
std::optional<std::int64_t> memory_of_a_node(const v1alpha1::JobSpec& spec,
                                             const std::vector<NodeView>& nodes) {
  std::optional<std::int64_t> most;
  for (const NodeView& node : nodes) {
    if (is_wanted(node, spec)) most = std::max(most.value_or(0), offered(node, "memory"));
  }
  return most;
}

SurveyedJob survey_processors(const Job& job, const std::vector<NodeView>& nodes) {
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

}  // namespace

DeviceSurvey survey_gpus(const v1alpha1::JobSpec& spec, const std::vector<NodeView>& nodes) {
  const v1alpha1::Device& device = spec.resources().device();
  std::map<std::string, Group> by_product;
  for (const NodeView& node : nodes) {
    const std::int64_t count = offered(node, device.resource_name());
    const std::string product = label(node, labels::kGpuProduct);
    if (count == 0 || !is_wanted(node, spec)) continue;
    if (!device.product().empty() && !same_product(product, device.product())) continue;
    Group& group = by_product[product];
    group.devices += count;
    group.per_node = std::max(group.per_node, count);
    const auto mebibytes = parse_quantity(label(node, labels::kGpuMemory) + "Mi");
    if (mebibytes) group.memory_bytes = std::min(*mebibytes, group.memory_bytes.value_or(*mebibytes));
  }
  const auto largest =
      std::max_element(by_product.begin(), by_product.end(),
                       [](const auto& a, const auto& b) { return a.second.devices < b.second.devices; });
  if (largest == by_product.end()) return {};
  return {.product = largest->first,
          .memory_bytes = largest->second.memory_bytes,
          .devices_per_node = static_cast<int>(std::min<std::int64_t>(largest->second.per_node, 16))};
}

SurveyedJob survey_devices(const Job& job, const std::vector<NodeView>& nodes) {
  SurveyedJob result{.spec = job.spec, .facts = {}};
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

}  // namespace caravan::controller
