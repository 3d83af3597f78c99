#include "operator/kept_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <functional>
#include <span>

#include "common/utf8.h"
#include "kube/api/names.h"
#include "kube/api/object.h"
#include "operator/api/cancellation.h"
#include "operator/api/names.h"
#include "operator/children/content_note.h"
#include "operator/children/inherited_metadata.h"
#include "operator/children/plan_object.h"
#include "operator/view/object_fields.h"

namespace caravan::controller {
namespace {

using kube::fields_of;
using kube::Json;
using kube::JsonArray;
using kube::JsonObject;
using kube::texts_at;
using Names = std::initializer_list<std::string_view>;

// The API server takes references to owners with names and UIDs of any length.
constexpr std::size_t kLongestUid = 64;

const Json* job_that_controls(const Json& child) {
  const Json* owner = kube::controller_of(child);
  if (owner == nullptr || kube::text_at(*owner, {"kind"}) != kKind) return nullptr;
  if (kube::text_at(*owner, {"name"}).size() > kube::kLongestName) return nullptr;
  if (kube::text_at(*owner, {"uid"}).size() > kLongestUid) return nullptr;
  const std::string group = fmt::format("{}/", kGroup);
  return kube::text_at(*owner, {"apiVersion"}).compare(0, group.size(), group) == 0 ? owner : nullptr;
}

JsonObject metadata_of_child(const Json& child, const Json& job) {
  JsonObject metadata = fields_of(
      child, {"metadata"},
      {"namespace", "name", "uid", "resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds"});
  metadata["ownerReferences"] = JsonArray{fields_of(job, {}, {"kind", "name", "uid", "controller"})};
  return metadata;
}

void cut_text(std::size_t most_bytes, Json& field) {
  if (!field.is_string()) return;
  boost::json::string& text = field.get_string();
  text.resize(utf8_prefix(text, most_bytes).size());
}

// Fields of a status, whose texts are as long together as a job's result and what else is read. Kubelets keep
// them short, and whoever may write a status need not.
class StatusFields {
 public:
  JsonObject of(const Json& object, kube::JsonPath path, Names names) {
    JsonObject kept = fields_of(object, path, names);
    for (auto& field : kept) {
      cut_text(left_, field.value());
      if (field.value().is_string()) left_ -= field.value().get_string().size();
    }
    return kept;
  }

 private:
  std::size_t left_ = 16 << 10;
};

JsonObject kept_of_condition(const Json& condition, StatusFields& fields) {
  return fields.of(condition, {}, {"type", "status", "message", "lastTransitionTime"});
}

JsonArray conditions_of(const Json& object, Names types, StatusFields& fields) {
  const JsonArray& conditions = kube::array_at(object, {"status", "conditions"});
  JsonArray kept;
  for (const std::string_view type : types) {
    if (const Json* condition = kube::find_condition(conditions, type))
      kept.emplace_back(kept_of_condition(*condition, fields));
  }
  return kept;
}

JsonObject kept_of_worker(const Json& status, StatusFields& fields) {
  JsonObject state;
  if (kube::find(status, {"state", "terminated"}) != nullptr)
    state["terminated"] =
        fields.of(status, {"state", "terminated"}, {"exitCode", "finishedAt", "message", "reason"});
  if (kube::find(status, {"state", "running"}) != nullptr)
    state["running"] = fields.of(status, {"state", "running"}, {"startedAt"});
  if (kube::find(status, {"state", "waiting"}) != nullptr)
    state["waiting"] = fields.of(status, {"state", "waiting"}, {"reason", "message"});
  return {{"name", kWorkerContainer}, {"state", std::move(state)}};
}

// What children inherit, and what queueing systems are told by.
JsonObject labels_of_job(const Json& job) {
  JsonObject kept = fields_of(job, {"metadata", "labels"}, {labels::kQueueName, labels::kQueuePriority});
  for (const auto& [name, value] : inherited(texts_at(job, {"metadata", "labels"}))) kept[name] = value;
  return kept;
}

// Whoever may make pods in a namespace may give them lists of any length.
constexpr std::size_t kMostContainers = 32;
constexpr std::size_t kMostRequests = 32;  // of all containers together
constexpr std::size_t kMostGates = 4;

std::span<const Json> first_of(const JsonArray& list, std::size_t most) {
  return std::span(list.data(), std::min(list.size(), most));
}

// left: how many there may be, here and in the containers behind.
JsonObject requests_of(const Json& container, std::size_t& left) {
  constexpr std::size_t kLongestQuantity = 64;
  JsonObject kept;
  const Json* all = kube::find(container, {"resources", "requests"});
  if (all == nullptr || !all->is_object()) return kept;
  for (const auto& request : all->get_object()) {
    const bool is_short =
        request.value().is_string() && request.value().get_string().size() <= kLongestQuantity;
    if (!is_short || left == 0) continue;
    kept.insert(request);
    --left;
  }
  return kept;
}

JsonObject spec_of_pod(const Json& pod) {
  JsonObject spec = fields_of(pod, {"spec"}, {"nodeName"});
  JsonArray gates;
  for (const Json& gate : first_of(kube::array_at(pod, {"spec", "schedulingGates"}), kMostGates))
    gates.push_back(fields_of(gate, {}, {"name"}));
  if (!gates.empty()) spec["schedulingGates"] = std::move(gates);
  JsonArray containers;
  std::size_t left = kMostRequests;
  for (const Json& container : first_of(kube::array_at(pod, {"spec", "containers"}), kMostContainers))
    containers.push_back(JsonObject{{"resources", JsonObject{{"requests", requests_of(container, left)}}}});
  spec["containers"] = std::move(containers);
  return spec;
}

// Of its pods nothing else is read.
JsonObject spec_of_workload(const Json& workload) {
  JsonObject spec = fields_of(workload, {"spec"}, {"active", "queueName"});
  spec["priorityClassRef"] = fields_of(workload, {"spec", "priorityClassRef"}, {"name"});
  const JsonArray& pod_sets = kube::array_at(workload, {"spec", "podSets"});
  if (!pod_sets.empty()) {
    JsonObject request = fields_of(pod_sets.front(), {"topologyRequest"}, {"podSetSliceSize"});
    spec["podSets"] = JsonArray{JsonObject{{"topologyRequest", std::move(request)}}};
  }
  return spec;
}

}  // namespace

std::optional<Json> kept_of_job(const Json& job) {
  JsonObject metadata = fields_of(job, {"metadata"},
                                  {"namespace", "name", "uid", "resourceVersion", "generation",
                                   "creationTimestamp", "deletionTimestamp"});
  const JsonObject others = fields_of(job, {"metadata"}, {"labels", "annotations", "finalizers"});
  const std::size_t hash = std::hash<std::string>()(boost::json::serialize(others));
  JsonObject annotations =
      fields_of(job, {"metadata", "annotations"}, {annotations::kCheckpoint, annotations::kCancel});
  for (auto& annotation : annotations)  // with what is more than is ever acted on
    cut_text(kLongestCheckpointRequest + 4, annotation.value());
  for (const auto& [name, value] : inherited(texts_at(job, {"metadata", "annotations"})))
    annotations[name] = value;
  annotations["hash"] = fmt::format("{:x}", hash);
  metadata["annotations"] = std::move(annotations);
  if (JsonObject labels = labels_of_job(job); !labels.empty()) metadata["labels"] = std::move(labels);
  JsonObject kept = fields_of(job, {}, {"apiVersion", "kind", "spec", "status"});
  kept["metadata"] = std::move(metadata);
  return kept;
}

std::optional<Json> kept_of_pod(const Json& pod) {
  const Json* job = job_that_controls(pod);
  if (job == nullptr) return std::nullopt;
  JsonObject metadata = metadata_of_child(pod, *job);
  metadata["labels"] =
      fields_of(pod, {"metadata", "labels"},
                {labels::kNodeIndex, labels::kAttempt, labels::kCertificates, labels::kTopologyDomain});
  if (const Json* created = kube::find(pod, {"metadata", "creationTimestamp"}))
    metadata["creationTimestamp"] = *created;
  StatusFields fields;
  JsonObject status = fields.of(pod, {"status"}, {"phase", "reason", "message"});
  JsonArray conditions = conditions_of(pod, {"PodScheduled", "DisruptionTarget"}, fields);
  if (const Json* silence = silence_of(pod)) conditions.emplace_back(kept_of_condition(*silence, fields));
  status["conditions"] = std::move(conditions);
  if (const Json* worker = status_of_worker(pod))
    status["containerStatuses"] = JsonArray{kept_of_worker(*worker, fields)};
  return JsonObject{
      {"metadata", std::move(metadata)}, {"spec", spec_of_pod(pod)}, {"status", std::move(status)}};
}

std::optional<Json> kept_of_plan(const Json& config_map) {
  const Json* job = job_that_controls(config_map);
  if (job == nullptr) return std::nullopt;
  Json kept = trim_plan_object(config_map);
  for (auto& field : metadata_of_child(config_map, *job))
    kept.at("metadata").as_object()[field.key()] = std::move(field.value());
  return kept;
}

std::optional<Json> kept_of_child(const Json& child) {
  const Json* job = job_that_controls(child);
  if (job == nullptr) return std::nullopt;
  return JsonObject{{"metadata", metadata_of_child(child, *job)}};
}

std::optional<Json> kept_of_network_policy(const Json& policy) {
  std::optional<Json> kept = kept_of_child(policy);
  if (const std::string written = noted_content(policy); kept && !written.empty())
    note_content(written, *kept);
  return kept;
}

std::optional<Json> kept_of_workload(const Json& workload) {
  const Json* job = job_that_controls(workload);
  if (job == nullptr) return std::nullopt;
  return JsonObject{
      {"metadata", metadata_of_child(workload, *job)},
      {"spec", spec_of_workload(workload)},
      {"status", fields_of(workload, {"status"}, {"conditions", "admission", "admissionChecks"})}};
}

std::optional<Json> kept_of_flavor(const Json& flavor) {
  return JsonObject{{"metadata", fields_of(flavor, {"metadata"}, {"name", "uid", "resourceVersion"})},
                    {"spec", fields_of(flavor, {"spec"}, {"nodeLabels", "tolerations"})}};
}

std::optional<Json> kept_of_priority_class(const Json& priority) {
  JsonObject kept = fields_of(priority, {}, {"value"});
  kept["metadata"] = fields_of(priority, {"metadata"}, {"name", "uid", "resourceVersion"});
  return kept;
}

std::optional<Json> kept_of_node(const Json& node) {
  StatusFields fields;
  JsonObject status = fields_of(node, {"status"}, {"allocatable"});
  status["conditions"] = conditions_of(node, {"Ready"}, fields);
  return JsonObject{{"metadata", fields_of(node, {"metadata"}, {"name", "uid", "resourceVersion", "labels"})},
                    {"spec", fields_of(node, {"spec"}, {"unschedulable", "taints"})},
                    {"status", std::move(status)}};
}

}  // namespace caravan::controller
