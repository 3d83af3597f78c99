#include "operator/children/pod_placement.h"

#include <fmt/format.h>

#include "operator/api/names.h"

namespace caravan::controller {
namespace {

using kube::Json;
using kube::JsonArray;
using kube::JsonObject;
using Texts = std::map<std::string, std::string>;

JsonObject& object_at(JsonObject& from, const char* name) {
  Json& value = from[name];
  if (!value.is_object()) value = JsonObject();
  return value.get_object();
}

JsonArray& array_at(JsonObject& from, const char* name) {
  Json& value = from[name];
  if (!value.is_array()) value = JsonArray();
  return value.get_array();
}

void add_texts(const Texts& more, JsonObject& to, const char* name) {
  if (more.empty()) return;
  JsonObject& texts = object_at(to, name);
  for (const auto& [key, value] : more) texts.emplace(key, value);
}

// Null: the node has none.
const Texts* labels_of_domain(const PodPlacement& placement, int node) {
  const auto index = static_cast<std::size_t>(node);
  if (index >= placement.domain_of_node.size() || placement.domain_of_node[index] < 0) return nullptr;
  return &placement.domains[static_cast<std::size_t>(placement.domain_of_node[index])];
}

// As a preference: the pod goes elsewhere where there is no room.
void prefer(const Texts& node_labels, JsonObject& spec) {
  JsonArray requirements;
  for (const auto& [key, value] : node_labels)
    requirements.push_back(JsonObject{{"key", key}, {"operator", "In"}, {"values", JsonArray{Json(value)}}});
  const JsonObject preference{{"matchExpressions", std::move(requirements)}};
  array_at(object_at(object_at(spec, "affinity"), "nodeAffinity"),
           "preferredDuringSchedulingIgnoredDuringExecution")
      .push_back(JsonObject{{"weight", kHeaviestPreference}, {"preference", preference}});
}

}  // namespace

// FNV-1a over the labels: a label's value is short, and names of domains need not be.
std::string domain_name(const Texts& node_labels) {
  std::uint64_t hash = 14695981039346656037ULL;
  const auto add = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    hash = (hash ^ 0xFF) * 1099511628211ULL;
  };
  for (const auto& [key, value] : node_labels) {
    add(key);
    add(value);
  }
  return fmt::format("{:016x}", hash);
}

std::string domain_of(const PodPlacement& placement, int node) {
  const Texts* domain = labels_of_domain(placement, node);
  return domain == nullptr ? "" : domain_name(*domain);
}

void place(const PodPlacement& placement, int node, JsonObject& metadata, JsonObject& spec) {
  const auto index = static_cast<std::size_t>(node);
  add_texts(placement.labels, metadata, "labels");
  add_texts(placement.annotations, metadata, "annotations");
  add_texts(placement.node_selector, spec, "nodeSelector");
  for (const Json& toleration : placement.tolerations) array_at(spec, "tolerations").push_back(toleration);
  if (!placement.scheduler_name.empty()) spec.emplace("schedulerName", placement.scheduler_name);
  if (index < placement.topology_index.size())
    add_texts({{labels::kTopologyIndex, std::to_string(placement.topology_index[index])}}, metadata,
              "labels");
  const Texts* domain = labels_of_domain(placement, node);
  if (domain == nullptr) return;
  add_texts({{labels::kTopologyDomain, domain_name(*domain)}}, metadata, "labels");
  if (placement.domains_are_preferred) {
    prefer(*domain, spec);
  } else {
    add_texts(*domain, spec, "nodeSelector");
  }
}

}  // namespace caravan::controller
