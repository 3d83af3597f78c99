#include "operator/children/pod_nodes.h"

#include <map>

#include "operator/api/device_labels.h"
#include "operator/api/names.h"
#include "operator/view/worker_devices.h"

namespace caravan::controller {
namespace {

using kube::Json;
using kube::JsonArray;
using kube::JsonObject;

JsonArray tolerations(const v1alpha1::Worker& worker) {
  JsonArray all;
  for (const v1alpha1::Toleration& given : worker.tolerations()) {
    JsonObject toleration;
    if (!given.key().empty()) toleration["key"] = given.key();
    if (!given.operator_().empty()) toleration["operator"] = given.operator_();
    if (!given.value().empty()) toleration["value"] = given.value();
    if (!given.effect().empty()) toleration["effect"] = given.effect();
    if (given.has_toleration_seconds()) toleration["tolerationSeconds"] = given.toleration_seconds();
    all.push_back(std::move(toleration));
  }
  return all;
}

// What the job's own requirements say: a node must meet them all.
JsonArray requirements(const v1alpha1::Worker& worker) {
  JsonArray all;
  for (const v1alpha1::NodeRequirement& given : worker.node_affinity()) {
    JsonObject requirement{{"key", given.key()}, {"operator", given.operator_()}};
    if (given.values_size() > 0)
      requirement["values"] = JsonArray(given.values().begin(), given.values().end());
    all.push_back(std::move(requirement));
  }
  return all;
}

JsonObject term_of(JsonArray requirements, const JsonObject& more) {
  if (!more.empty()) requirements.push_back(more);
  return {{"matchExpressions", std::move(requirements)}};
}

// A node must meet one of them. Where no node told of the product that the job names, pods go to nodes that
// do later, and to those that tell of none: a new node has no label yet, and no autoscaler expects it to.
JsonArray node_terms(const v1alpha1::JobSpec& spec, const PodRequest& request) {
  const std::vector<std::string> products =
      request.product_label.empty() ? wanted_products(spec) : std::vector<std::string>();
  JsonArray own = requirements(spec.worker());
  if (products.empty()) return own.empty() ? JsonArray() : JsonArray{term_of(std::move(own), {})};
  const char* label = labels_of(spec.resources().device().resource_name()).product;
  const JsonObject names_it{
      {"key", label}, {"operator", "In"}, {"values", JsonArray(products.begin(), products.end())}};
  const JsonObject names_none{{"key", label}, {"operator", "DoesNotExist"}};
  return {term_of(own, names_it), term_of(own, names_none)};
}

// By name, which no label need repeat; a requirement on it takes one value. Where there is room nowhere else,
// the job goes on there: a machine may be innocent of two failures.
JsonArray avoid(const std::vector<std::string>& machines) {
  JsonArray fields;
  for (const std::string& machine : machines) {
    fields.push_back(
        JsonObject{{"key", "metadata.name"}, {"operator", "NotIn"}, {"values", JsonArray{Json(machine)}}});
  }
  const JsonObject preference{{"matchFields", std::move(fields)}};
  return {JsonObject{{"weight", kHeaviestPreference}, {"preference", preference}}};
}

JsonObject node_affinity(const v1alpha1::JobSpec& spec, const PodRequest& request) {
  JsonObject affinity;
  if (JsonArray terms = node_terms(spec, request); !terms.empty())
    affinity["requiredDuringSchedulingIgnoredDuringExecution"] =
        JsonObject{{"nodeSelectorTerms", std::move(terms)}};
  if (!request.avoided_machines.empty())
    affinity["preferredDuringSchedulingIgnoredDuringExecution"] = avoid(request.avoided_machines);
  return affinity;
}

JsonObject affinity_of(const Job& job, const PodRequest& request) {
  JsonObject affinity;
  JsonObject to_nodes = node_affinity(job.spec, request);
  if (!to_nodes.empty()) affinity["nodeAffinity"] = std::move(to_nodes);
  return affinity;
}

// Labels of nodes that a pod goes to. What the job says of the product's label goes before the plan's.
JsonObject node_labels(const Job& job, const PodRequest& request) {
  JsonObject selector;
  if (!request.product_label.empty()) {
    const DeviceLabels& labels = labels_of(job.spec.resources().device().resource_name());
    selector[labels.product] = request.product_label;
  }
  const auto& given = job.spec.worker().node_selector();
  const std::map<std::string, std::string> wanted(given.begin(), given.end());
  for (const auto& [key, value] : wanted) selector[key] = value;
  return selector;
}

}  // namespace

void choose_nodes(const Job& job, const PodRequest& request, JsonObject& spec) {
  const v1alpha1::Worker& worker = job.spec.worker();
  if (JsonObject selector = node_labels(job, request); !selector.empty())
    spec["nodeSelector"] = std::move(selector);
  if (worker.tolerations_size() > 0) spec["tolerations"] = tolerations(worker);
  if (JsonObject affinity = affinity_of(job, request); !affinity.empty())
    spec["affinity"] = std::move(affinity);
  if (!worker.priority_class_name().empty()) spec["priorityClassName"] = worker.priority_class_name();
  if (!worker.scheduler_name().empty()) spec["schedulerName"] = worker.scheduler_name();
  if (!worker.runtime_class_name().empty()) spec["runtimeClassName"] = worker.runtime_class_name();
}

}  // namespace caravan::controller
