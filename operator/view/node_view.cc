#include "operator/view/node_view.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "common/quantity.h"
#include "kube/api/object.h"
#include "operator/view/object_fields.h"

namespace caravan::controller {
namespace {

using kube::Json;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

void add_amount(const std::string& resource, std::int64_t amount, Demand& to) {
  std::int64_t& sum = to[resource];
  if (__builtin_add_overflow(sum, amount, &sum)) sum = kMost;
}

// A part of a unit is no room for a pod that asks for a whole one. Nodes tell of parts in thousandths.
Result<std::int64_t> whole_units(std::string_view text) {
  if (!text.ends_with('m')) return parse_quantity(text);
  return parse_quantity(text.substr(0, text.size() - 1)).map([](std::int64_t parts) { return parts / 1000; });
}

// Exactly: nodes keep a part of their cores for themselves. The API server knows no smaller parts.
Result<std::int64_t> thousandths(const std::string& text) {
  if (text.ends_with('m')) return parse_quantity(text.substr(0, text.size() - 1));
  if (const auto without_suffix = parse_quantity(text + "k")) return without_suffix;
  return parse_quantity(text).map([](std::int64_t units) { return std::min(units, kMost / 1000) * 1000; });
}

using ReadAmount = Result<std::int64_t> (*)(std::string_view);

void add_amounts(const Json& quantities, ReadAmount read, Demand& to) {
  if (!quantities.is_object()) return;
  for (const auto& resource : quantities.get_object()) {
    if (!resource.value().is_string()) continue;
    const std::string text(resource.value().get_string());
    const auto amount = resource.key() == "cpu" ? thousandths(text) : read(text);
    if (amount) add_amount(resource.key(), *amount, to);
  }
}

std::vector<Taint> read_taints(const Json& node) {
  std::vector<Taint> taints;
  for (const Json& each : kube::array_at(node, {"spec", "taints"})) {
    Taint taint{.key = kube::text_at(each, {"key"}),
                .value = kube::text_at(each, {"value"}),
                .effect = kube::text_at(each, {"effect"})};
    if (taint.effect == "NoSchedule" || taint.effect == "NoExecute") taints.push_back(std::move(taint));
  }
  return taints;
}

}  // namespace

NodeView read_node(const Json& object) {
  NodeView view;
  view.name = kube::key_of(object).name;
  view.labels = kube::texts_at(object, {"metadata", "labels"});
  if (const Json* all = kube::find(object, {"status", "allocatable"}))
    add_amounts(*all, whole_units, view.allocatable);
  view.taints = read_taints(object);
  view.usable = has_condition(object, "Ready", "True") && !kube::flag_at(object, {"spec", "unschedulable"});
  return view;
}

std::int64_t amount_of(const Demand& demand, const std::string& resource) {
  const auto found = demand.find(resource);
  return found == demand.end() ? 0 : found->second;
}

void add_demand(const Demand& more, Demand& to) {
  for (const auto& [resource, amount] : more) add_amount(resource, amount, to);
}

Demand read_demand(const Json& pod) {
  Demand demand;
  for (const Json& container : kube::array_at(pod, {"spec", "containers"})) {
    if (const Json* all = kube::find(container, {"resources", "requests"}))
      add_amounts(*all, parse_quantity, demand);
  }
  return demand;
}

}  // namespace caravan::controller
