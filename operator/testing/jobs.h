// Jobs, pods and snapshots for the operator's tests.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "operator/api/names.h"
#include "operator/children/content_note.h"
#include "operator/children/job_objects.h"
#include "operator/controller/settings.h"
#include "operator/controller/snapshot.h"

namespace caravan::controller::testing {

inline const TimePoint kStart = to_time("2030-01-01T00:00:00Z").value();

// The object as the API server holds it; two pods of two ranks on processors.
inline kube::Json job_object(const std::string& spec_more = "", const std::string& name = "train",
                             const std::string& uid = "0a1b2c3d-0000-4000-8000-000000000001") {
  const std::string text = fmt::format(
      R"({{"apiVersion": "training.caravan.dev/v1alpha1", "kind": "LlamaTrainingJob",
          "metadata": {{"name": "{}", "namespace": "team", "uid": "{}", "generation": 1, "resourceVersion": "1",
                       "creationTimestamp": "2030-01-01T00:00:00Z"}},
          "spec": {{"model": {{"preset": "llama-tiny"}}, "data": {{"claimName": "corpus", "path": "train.bin"}},
                   "training": {{"steps": 100, "sequenceLength": 64, "globalBatchSequences": 8}},
                   "resources": {{"devices": 4, "devicesPerNode": 2, "device": {{"kind": "CPU", "memory": "4Gi"}}}}
                   {}}}}})",
      name, uid, spec_more);
  return kube::parse_json(text, "job").value();
}

// With a node for each device.
inline kube::Json job_object_of(int nodes) {
  kube::Json object = job_object();
  kube::JsonObject& spec = object.as_object()["spec"].as_object();
  spec["resources"] = kube::JsonObject{{"devices", nodes},
                                       {"devicesPerNode", 1},
                                       {"device", kube::JsonObject{{"kind", "CPU"}, {"memory", "4Gi"}}}};
  spec["training"] = kube::JsonObject{{"steps", 1}, {"sequenceLength", 64}, {"globalBatchSequences", nodes}};
  return object;
}

inline Settings settings() {
  return {.worker_image = "registry.example/caravan-worker:1",
          .worker_image_cuda = "registry.example/caravan-worker-cuda:1",
          .reports_address = "caravan-operator.caravan-system.svc:9443",
          .reports_authority = "authority",
          .own_namespace = "caravan-system",
          .name_servers = {{.name_space = "kube-system", .label = "k8s-app", .value = "kube-dns"},
                           {.addresses = "169.254.20.10/32"}}};
}

inline Job job(const std::string& spec_more = "") {
  return read_job(job_object(spec_more));
}

inline SharedNodes shared(std::vector<NodeView> nodes) {
  return std::make_shared<const std::vector<NodeView>>(std::move(nodes));
}

inline NodeView gpu_node(const std::string& name, const std::string& product, int gpus) {
  return {.name = name,
          .labels = {{labels::kNvidiaProduct, product}, {labels::kNvidiaMemory, "81559"}},
          .allocatable = {{"nvidia.com/gpu", gpus}}};
}

inline NodeView amd_node(const std::string& name, const std::string& product, int gpus) {
  return {.name = name,
          .labels = {{labels::kAmdProduct, product}, {labels::kAmdMemory, "192G"}},
          .allocatable = {{"amd.com/gpu", gpus}}};
}

// 16 GPUs; device: JSON of spec.resources.device. Without devices_per_node the job does not say that.
inline Job gpu_job(const std::string& device, const std::string& preset = "llama3-8b",
                   const std::string& spec_more = "", int devices_per_node = 0) {
  kube::Json object = job_object(spec_more);
  kube::JsonObject& spec = object.as_object()["spec"].as_object();
  spec["resources"] =
      kube::JsonObject{{"devices", 16}, {"device", kube::parse_json(device, "device").value()}};
  if (devices_per_node > 0) spec["resources"].as_object()["devicesPerNode"] = devices_per_node;
  spec["model"] = kube::JsonObject{{"preset", preset}};
  spec["training"] = kube::JsonObject{{"steps", 10}, {"sequenceLength", 4096}, {"globalBatchSequences", 64}};
  return read_job(object);
}

// As if its Service, account and network policy had been made.
inline void know_children(Snapshot& snapshot) {
  snapshot.has_service = snapshot.has_account = true;
  snapshot.network_policy = {.uid = "policy",
                             .written = noted_content(network_policy_intent(snapshot.job, settings()))};
}

// The set that running pods have.
inline constexpr char kCertificates[] = "c0ffee00";

inline PodView running_pod(int node, int attempt = 1) {
  return {.name = fmt::format("train-{}-a{}", node, attempt),
          .uid = fmt::format("pod-{}-{}", node, attempt),
          .node = node,
          .attempt = attempt,
          .certificates = kCertificates,
          .phase = PodPhase::kRunning,
          .machine = fmt::format("machine-{}", node)};
}

// That of node 0 has the last words of an agent whose job is complete when it ends well.
inline PodView ended_pod(int node, int exit_code, TimePoint at, int attempt = 1) {
  PodView pod = running_pod(node, attempt);
  pod.phase = exit_code == 0 ? PodPhase::kSucceeded : PodPhase::kFailed;
  pod.exit_code = exit_code;
  pod.finished_at = at;
  if (node == 0 && exit_code == 0) pod.last_words = R"({"result": "Complete"})";
  return pod;
}

}  // namespace caravan::controller::testing
