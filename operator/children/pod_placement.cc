#include "operator/children/pod_placement.h"

#include <map>

#include "operator/api/names.h"

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

constexpr int kHeaviest = 100;  // of the preferences of a pod

// Pods of one job in one domain of the topology, as far as possible or strictly.
JsonObject pod_affinity(const Job& job) {
  const v1alpha1::Topology& topology = job.spec.scheduling().topology();
  const JsonObject term{
      {"labelSelector", JsonObject{{"matchLabels", JsonObject{{labels::kJobUid, job.uid}}}}},
      {"topologyKey", topology.key()}};
  if (topology.mode() == v1alpha1::Topology::Required) {
    return {{"requiredDuringSchedulingIgnoredDuringExecution", JsonArray{term}}};
  }
  const JsonObject weighted{{"weight", kHeaviest}, {"podAffinityTerm", term}};
  return {{"preferredDuringSchedulingIgnoredDuringExecution", JsonArray{weighted}}};
}

// By name, which no label need repeat; a requirement on it takes one value. Where there is room nowhere else,
// the job goes on there: a machine may be innocent of two failures.
JsonObject node_affinity(const std::vector<std::string>& avoided) {
  JsonArray fields;
  for (const std::string& machine : avoided) {
    fields.push_back(
        JsonObject{{"key", "metadata.name"}, {"operator", "NotIn"}, {"values", JsonArray{Json(machine)}}});
  }
  const JsonObject preference{{"matchFields", std::move(fields)}};
  const JsonObject term{{"weight", kHeaviest}, {"preference", preference}};
  return {{"preferredDuringSchedulingIgnoredDuringExecution", JsonArray{term}}};
}

}  // namespace

void add_placement(const Job& job, const PodRequest& request, JsonObject& spec) {
  JsonObject selector;
  if (!request.product_label.empty()) selector[labels::kGpuProduct] = request.product_label;
  std::map<std::string, std::string> wanted(job.spec.worker().node_selector().begin(),
                                            job.spec.worker().node_selector().end());
  for (const auto& [key, value] : wanted) selector[key] = value;
  if (!selector.empty()) spec["nodeSelector"] = std::move(selector);
  if (job.spec.worker().tolerations_size() > 0) spec["tolerations"] = tolerations(job.spec.worker());
  if (!job.spec.worker().priority_class_name().empty())
    spec["priorityClassName"] = job.spec.worker().priority_class_name();
  const auto mode = job.spec.scheduling().topology().mode();
  JsonObject affinity;
  if (mode == v1alpha1::Topology::Preferred || mode == v1alpha1::Topology::Required)
    affinity["podAffinity"] = pod_affinity(job);
  if (!request.avoided_machines.empty()) affinity["nodeAffinity"] = node_affinity(request.avoided_machines);
  if (!affinity.empty()) spec["affinity"] = std::move(affinity);
}

}  // namespace caravan::controller
