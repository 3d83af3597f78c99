#include "operator/view/device_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "common/quantity.h"
#include "operator/api/device_labels.h"
#include "operator/view/node_match.h"
#include "operator/view/worker_devices.h"
#include "planner/device/catalogue.h"
#include "planner/job_shape.h"

namespace caravan::controller {
namespace {

constexpr int kCpuRanksPerPod = 16;              // where the job does not say
constexpr std::int64_t kMostDevicesOfAPod = 16;  // the schema's bound
constexpr const char* kKnownResources[] = {"nvidia.com/gpu", "amd.com/gpu"};

// Jobs write the catalogue's name or the label's.
bool same_product(const std::string& left, const std::string& right) {
  const auto a = planner::find_device(left);
  const auto b = planner::find_device(right);
  return left == right || (a && b && a->name == b->name);
}

// All nodes of one product.
struct Product {
  std::vector<std::int64_t> devices = {};  // of each node
  std::optional<std::int64_t> memory_bytes = {};
};

std::map<std::string, Product> products_of(const v1alpha1::JobSpec& spec,
                                           const std::vector<NodeView>& nodes) {
  const v1alpha1::Device& device = spec.resources().device();
  const DeviceLabels& labels = labels_of(device.resource_name());
  std::map<std::string, Product> products;
  for (const NodeView& node : nodes) {
    const std::int64_t count = amount_of(node.allocatable, device.resource_name());
    if (count == 0 || !is_wanted(node, spec.worker())) continue;
    const std::string name = label_of(node, labels.product);
    if (!device.product().empty() && !same_product(name, device.product())) continue;
    Product& product = products[name];
    product.devices.push_back(std::min(count, kMostDevicesOfAPod));
    const auto memory = labels.memory_bytes(label_of(node, labels.memory));
    if (memory) product.memory_bytes = std::min(*memory, product.memory_bytes.value_or(*memory));
  }
  return products;
}

// The sizes of nodes that pools are told apart by: those that there are, or the one that the job wants.
std::set<std::int64_t> sizes_of(const v1alpha1::Resources& resources, const Product& product) {
  if (resources.has_devices_per_node()) return {std::min(resources.devices_per_node(), resources.devices())};
  return {product.devices.begin(), product.devices.end()};
}

// Of the roomiest node.
std::optional<std::int64_t> memory_of_a_node(const v1alpha1::JobSpec& spec,
                                             const std::vector<NodeView>& nodes) {
  std::optional<std::int64_t> most;
  for (const NodeView& node : nodes) {
    if (is_wanted(node, spec.worker()))
      most = std::max(most.value_or(0), amount_of(node.allocatable, "memory"));
  }
  return most;
}

SurveyedJob survey_processors(const Job& job, const std::vector<NodeView>& nodes) {
  const v1alpha1::Resources& resources = job.spec.resources();
  const int per_node = resources.has_devices_per_node() ? resources.devices_per_node() : kCpuRanksPerPod;
  const int ranks = planner::spread(resources.devices(), per_node).ranks_per_node();
  planner::DeviceFacts facts{.memory_bytes = memory_per_rank(job.spec, ranks),
                             .devices_per_node = per_node,
                             .threads_per_rank = threads_per_rank(job.spec, ranks)};
  const auto of_a_node = memory_of_a_node(job.spec, nodes);
  if (!facts.memory_bytes && of_a_node) facts.memory_bytes = *of_a_node / ranks;
  return {.spec = job.spec, .facts = facts};
}

SurveyedJob on_pool(const Job& job, const DevicePool& pool) {
  SurveyedJob place{.spec = job.spec,
                    .facts = {.memory_bytes = pool.memory_bytes, .devices_per_node = pool.devices_per_node},
                    .gpu_product = pool.product,
                    .pool = pool};
  v1alpha1::Device& device = *place.spec.mutable_resources()->mutable_device();
  if (device.product().empty()) device.set_product(pool.product);
  return place;
}

// What other vendor's devices there are, which the job may have meant.
std::string hint_of(const v1alpha1::JobSpec& spec, const std::vector<NodeView>& nodes) {
  for (const char* other : kKnownResources) {
    const auto offers = [&](const NodeView& node) {
      return amount_of(node.allocatable, other) > 0 && is_wanted(node, spec.worker());
    };
    if (other != spec.resources().device().resource_name() && std::ranges::any_of(nodes, offers))
      return fmt::format("; nodes offer {0}, which a job with spec.resources.device.resourceName: {0} gets",
                         other);
  }
  return "";
}

std::string_view vendor_of(std::string_view resource_name) {
  return resource_name.substr(0, resource_name.find('/'));
}

// Of a product that no node offers by the resource that the job asks for, since another vendor makes it.
std::string say_other_vendor(const v1alpha1::Device& device) {
  const auto known = planner::find_device(device.product());
  const std::string_view asked = vendor_of(device.resource_name());
  if (!known || asked == vendor_of(known->resource_name) ||
      std::ranges::find(kKnownResources, asked, vendor_of) == std::end(kKnownResources))
    return "";
  return fmt::format(
      "spec.resources.device.resourceName: nodes offer {} as {}, not as {}; create the job again with "
      "resourceName: {}",
      known->name, known->resource_name, device.resource_name(), known->resource_name);
}

std::string say_no_pool(const v1alpha1::JobSpec& spec, const std::vector<NodeView>& nodes) {
  const v1alpha1::Resources& resources = spec.resources();
  const int least =
      resources.has_devices_per_node() ? std::min(resources.devices_per_node(), resources.devices()) : 1;
  return fmt::format(
      "no node that is ready offers {}{}; add such a node, or describe the devices in spec.resources.device "
      "(product, memory){}",
      least > 1 ? fmt::format("{} ", least) : "", resources.device().resource_name(), hint_of(spec, nodes));
}

}  // namespace

std::vector<DevicePool> device_pools(const v1alpha1::JobSpec& spec, const std::vector<NodeView>& nodes) {
  std::vector<DevicePool> pools;
  for (const auto& [name, product] : products_of(spec, nodes)) {
    for (const std::int64_t size : sizes_of(spec.resources(), product)) {
      DevicePool pool{
          .product = name, .devices_per_node = static_cast<int>(size), .memory_bytes = product.memory_bytes};
      for (const std::int64_t devices : product.devices) pool.devices += devices / size * size;
      if (pool.devices > 0) pools.push_back(std::move(pool));
    }
  }
  std::ranges::stable_sort(pools, [](const DevicePool& a, const DevicePool& b) {
    return std::tie(b.devices, b.devices_per_node) < std::tie(a.devices, a.devices_per_node);
  });
  return pools;
}

DeviceSurvey survey_devices(const Job& job, const std::vector<NodeView>& nodes) {
  const v1alpha1::Device& device = job.spec.resources().device();
  if (device.kind() == v1alpha1::Device::CPU) return {.places = {survey_processors(job, nodes)}};
  if (has_claimed_devices(job.spec.worker())) return {.places = {{.spec = job.spec}}};
  if (std::string problem = say_other_vendor(device); !problem.empty())
    return {.problem = std::move(problem), .problem_lasts = true};
  const std::vector<DevicePool> pools = device_pools(job.spec, nodes);
  DeviceSurvey survey;
  if (device.product().empty() && !device.memory().empty()) {
    SurveyedJob anywhere{.spec = job.spec};  // of any product, as long as it has that memory
    if (!pools.empty()) anywhere.facts.devices_per_node = pools.front().devices_per_node;
    survey.places.push_back(std::move(anywhere));
    return survey;
  }
  for (const DevicePool& pool : pools) survey.places.push_back(on_pool(job, pool));
  if (!survey.places.empty()) return survey;
  if (device.product().empty()) return {.problem = say_no_pool(job.spec, nodes)};
  return {.places = {{.spec = job.spec}}};  // nodes of that product may come
}

}  // namespace caravan::controller
