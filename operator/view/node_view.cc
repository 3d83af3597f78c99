#include "operator/view/node_view.h"

#include <limits>

#include "common/quantity.h"
#include "kube/api/object.h"
#include "operator/view/object_fields.h"

namespace caravan::controller {
namespace {

using kube::Json;

void add_amount(const std::string& resource, std::int64_t amount, Demand& to) {
  std::int64_t& sum = to[resource];
  if (__builtin_add_overflow(sum, amount, &sum)) sum = std::numeric_limits<std::int64_t>::max();
}

void add_amounts(const Json& quantities, Demand& to) {
  if (!quantities.is_object()) return;
  for (const auto& resource : quantities.get_object()) {
    if (!resource.value().is_string()) continue;
    const auto amount = parse_quantity(std::string(resource.value().get_string()));
    if (amount) add_amount(resource.key(), *amount, to);
  }
}

}  // namespace

NodeView read_node(const Json& object) {
  NodeView view;
  view.name = kube::key_of(object).name;
  view.labels = kube::texts_at(object, {"metadata", "labels"});
  if (const Json* all = kube::find(object, {"status", "allocatable"})) add_amounts(*all, view.allocatable);
  view.usable = has_condition(object, "Ready", "True") && !kube::flag_at(object, {"spec", "unschedulable"});
  return view;
}

std::int64_t amount_of(const Demand& demand, const std::string& resource) {
  const auto found = demand.find(resource);
  return found == demand.end() ? 0 : found->second;
}

Demand read_demand(const Json& pod) {
  Demand demand;
  for (const Json& container : kube::array_at(pod, {"spec", "containers"})) {
    if (const Json* all = kube::find(container, {"resources", "requests"})) add_amounts(*all, demand);
  }
  return demand;
}

}  // namespace caravan::controller
