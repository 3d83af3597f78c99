#include "operator/kept_fields.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <iterator>
#include <vector>

#include "common/utf8.h"
#include "kube/watch/cached_object.h"
#include "kube/watch/change_filter.h"
#include "operator/api/cancellation.h"
#include "operator/api/names.h"
#include "operator/children/inherited_metadata.h"
#include "operator/children/job_objects.h"
#include "operator/children/plan_object.h"
#include "operator/children/worker_pod.h"
#include "operator/testing/jobs.h"
#include "operator/view/node_view.h"
#include "operator/view/pod_view.h"

namespace caravan::controller::testing {
namespace {

using kube::Json;
using kube::JsonArray;
using kube::JsonObject;

std::string text(const std::optional<Json>& kept) {
  return kept ? boost::json::serialize(*kept) : "nothing";
}

Json parsed(std::string_view text) {
  return kube::parse_json(text, "a test's object").value();
}

// What the API server adds when an object is created.
Json stored(Json object) {
  JsonObject& metadata = object.at("metadata").as_object();
  metadata["uid"] = "5c0ffee0-0000-4000-8000-000000000002";
  metadata["resourceVersion"] = "123456789";
  metadata["creationTimestamp"] = "2030-01-01T00:00:00Z";
  metadata["managedFields"] =
      JsonArray{JsonObject{{"manager", "kubelet"}, {"fieldsV1", std::string(3000, 'x')}}};
  return object;
}

// A pod with all that scheduler and kubelet of Kubernetes 1.34 write of one that runs.
Json pod_with_status(const std::string& container_state, const std::string& phase = "Running") {
  v1alpha1::JobPlan plan;
  plan.set_nodes(2);
  plan.mutable_plan()->set_devices(4);
  Json pod = stored(pod_intent(job(), plan, {.node = 1, .attempt = 2}, settings()));
  pod.at("spec").as_object()["nodeName"] = "machine-17.rack-3.example";
  JsonArray conditions;
  for (const char* type :
       {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"})
    conditions.push_back(JsonObject{{"type", type},
                                    {"status", "True"},
                                    {"observedGeneration", 1},
                                    {"lastProbeTime", nullptr},
                                    {"lastTransitionTime", "2030-01-01T00:00:05Z"}});
  pod.as_object()["status"] =
      JsonObject{{"phase", phase},
                 {"hostIP", "10.0.0.17"},
                 {"podIPs", JsonArray{JsonObject{{"ip", "10.1.2.3"}}}},
                 {"qosClass", "Burstable"},
                 {"conditions", std::move(conditions)},
                 {"containerStatuses",
                  JsonArray{JsonObject{
                      {"name", "worker"},
                      {"image", "registry.example/caravan-worker:1"},
                      {"imageID", "registry.example/caravan-worker@sha256:" + std::string(64, '0')},
                      {"containerID", "containerd://" + std::string(64, '1')},
                      {"ready", true},
                      {"restartCount", 0},
                      {"volumeMounts", JsonArray{JsonObject{{"name", "plan"}, {"mountPath", "/etc/x"}}}},
                      {"state", parsed(container_state)}}}}};
  return pod;
}

// That never ran, or are being taken away.
std::vector<Json> pods_that_do_not_run() {
  Json disrupted = pod_with_status(R"({"running": {}})");
  disrupted.at("metadata").as_object()["deletionTimestamp"] = "2030-01-01T00:01:00Z";
  disrupted.at("status")
      .at("conditions")
      .as_array()
      .push_back(parsed(R"({"type": "DisruptionTarget", "status": "True"})"));
  Json rejected = pod_with_status(R"({"waiting": {"reason": "ContainerCreating"}})", "Failed");
  rejected.at("status").as_object()["reason"] = "Evicted";
  rejected.at("status").as_object()["message"] = "The node was low on resource: memory.";
  Json unschedulable = pod_with_status("{}", "Pending");
  unschedulable.at("spec").as_object().erase("nodeName");
  unschedulable.at("status").as_object()["conditions"] = JsonArray{
      parsed(R"({"type": "PodScheduled", "status": "False", "message": "0/1 nodes: 1 Insufficient cpu."})")};
  Json gated = unschedulable;
  gated.at("spec").as_object()["schedulingGates"] = JsonArray{JsonObject{{"name", "a.example/gate"}}};
  return {
      disrupted,
      rejected,
      unschedulable,
      gated,
      pod_with_status(R"({"waiting": {"reason": "ErrImagePull", "message": "not found"}})", "Pending"),
      stored(parsed(
          R"({"metadata": {"name": "a", "ownerReferences": [{"controller": true, "kind": "LlamaTrainingJob",
                        "apiVersion": "training.caravan.dev/v1alpha1", "name": "train", "uid": "u"}]}})"))};
}

std::vector<Json> pods_that_have_run() {
  Json with_sidecar = pod_with_status(R"({"terminated": {"exitCode": 137}})");
  with_sidecar.at("status")
      .at("containerStatuses")
      .as_array()
      .push_back(parsed(R"({"name": "proxy", "state": {"running": {"startedAt": "2030-01-01T00:00:09Z"}}})"));
  Json silent = pod_with_status(R"({"running": {"startedAt": "2030-01-01T00:00:09Z"}})");
  Json unready = silent;
  for (Json* pod : {&silent, &unready})
    kube::find_condition(pod->at("status").at("conditions").as_array(), "Ready")->as_object()["status"] =
        "False";
  kube::find_condition(unready.at("status").at("conditions").as_array(), "Ready")->as_object()["reason"] =
      "ContainersNotReady";
  return {pod_with_status(R"({"running": {"startedAt": "2030-01-01T00:00:09Z"}})"), with_sidecar, silent,
          unready,
          pod_with_status(R"({"terminated": {"exitCode": 137, "reason": "OOMKilled", "message": "step 7",
                          "startedAt": "2030-01-01T00:00:09Z", "finishedAt": "2030-01-01T00:00:59Z"}})",
                          "Failed")};
}

TEST(KeptFields, APodReadsTheSameAfterwards) {
  std::vector<Json> pods = pods_that_have_run();
  std::ranges::move(pods_that_do_not_run(), std::back_inserter(pods));
  for (const Json& pod : pods) {
    const auto kept = kept_of_pod(pod);
    ASSERT_TRUE(kept);
    EXPECT_EQ(read_pod(*kept), read_pod(pod)) << text(kept);
    EXPECT_EQ(kube::version_of(*kept), kube::version_of(pod));
    EXPECT_EQ(kube::controller_key_of(*kept, kKind), kube::controller_key_of(pod, kKind));
  }
}

// The bench measures the memory of a whole operator; this is what of it is text.
TEST(KeptFields, APodThatRunsTakesLessThanAKilobyte) {
  const Json pod = pod_with_status(R"({"running": {"startedAt": "2030-01-01T00:00:09Z"}})");
  EXPECT_GT(boost::json::serialize(pod).size(), 7000U);
  EXPECT_LT(text(kept_of_pod(pod)).size(), 800U) << text(kept_of_pod(pod));
}

TEST(KeptFields, LabelsThatNobodyReadsTakeNothing) {
  Json pod = pod_with_status("{}");
  const std::string before = text(kept_of_pod(pod));
  for (int i = 0; i < 1000; ++i)
    pod.at("metadata").at("labels").as_object()[fmt::format("training.caravan.dev/{}", i)] = "x";
  EXPECT_EQ(text(kept_of_pod(pod)), before);
}

// Whoever may make pods may make such ones, and every operator holds all pods of the cluster.
TEST(KeptFields, ListsOfAnyLengthTakeLittle) {
  Json pod = pod_with_status("{}", "Pending");
  JsonObject& spec = pod.at("spec").as_object();
  JsonArray gates, containers;
  JsonObject requests;
  for (int i = 0; i < 200; ++i) {
    gates.push_back(JsonObject{{"name", fmt::format("gate.example/{:0300}", i)}});
    requests[fmt::format("device.example/{}", i)] = "1";
    containers.push_back(JsonObject{{"name", fmt::format("c{}", i)}});
  }
  requests["cpu"] = std::string(100'000, '1');
  for (Json& container : containers) container.as_object()["resources"] = JsonObject{{"requests", requests}};
  spec["schedulingGates"] = std::move(gates);
  spec["containers"] = containers;
  pod.at("status").as_object()["containerStatuses"] = std::move(containers);
  const auto kept = kept_of_pod(pod);
  ASSERT_TRUE(kept);
  EXPECT_LT(text(kept).size(), 5'000U);
  EXPECT_TRUE(read_pod(*kept).gated);
}

// A status may be written by others than kubelets.
TEST(KeptFields, TextsOfAPodsStatusOfAnyLengthTakeLittle) {
  Json pod = pod_with_status(R"({"terminated": {"exitCode": 1}})", "Failed");
  const std::string flood(std::size_t{1} << 20, 'x');
  JsonObject& status = pod.at("status").as_object();
  status["message"] = flood;
  status["reason"] = flood;
  status["conditions"].as_array()[4].as_object()["message"] = flood;
  JsonArray& containers = status["containerStatuses"].as_array();
  containers[0].at("state").at("terminated").as_object()["message"] = flood;
  while (containers.size() < 32) containers.push_back(containers[0]);
  EXPECT_LT(text(kept_of_pod(pod)).size(), std::size_t{24} << 10);
}

// The cache reads what it keeps, and what is no UTF-8 it could not read.
TEST(KeptFields, TextsAreCutBetweenCharacters) {
  for (const char* before : {"", "a", "ab"}) {
    std::string flood(before);
    for (int i = 0; i < 10'000; ++i) flood += "€";
    Json job = job_object();
    job.at("metadata").as_object()["annotations"] = JsonObject{{annotations::kCheckpoint, flood}};
    const kube::CachedObject kept_job(kept_of_job(job).value());
    EXPECT_GT(read_job(kept_job.parse()).checkpoint_request.size(), kLongestCheckpointRequest) << before;
    Json pod = pod_with_status(R"({"terminated": {"exitCode": 1}})", "Failed");
    pod.at("status").as_object()["reason"] = "Evicted";
    pod.at("status").as_object()["message"] = flood;
    const kube::CachedObject kept_pod(kept_of_pod(pod).value());
    EXPECT_FALSE(first_invalid_utf8(read_pod(kept_pod.parse()).last_words)) << before;
  }
}

TEST(KeptFields, WhatMerelyCarriesOurLabelIsNotKept) {
  const Json ours = stored(service_intent(job()));
  EXPECT_TRUE(kept_of_child(ours));
  const auto with_owner = [&](const char* field, const Json& value) {
    Json child = ours;
    child.at("metadata").at("ownerReferences").as_array().front().as_object()[field] = value;
    return child;
  };
  Json without_owner = ours;
  without_owner.at("metadata").as_object().erase("ownerReferences");
  for (const Json& foreign :
       {without_owner, with_owner("controller", false), with_owner("kind", "Deployment"),
        with_owner("name", boost::json::string(254, 'x')), with_owner("uid", boost::json::string(65, 'x')),
        with_owner("apiVersion", "training.caravan.dev.evil/v1alpha1"), with_owner("apiVersion", "v1"),
        with_owner("apiVersion", nullptr), Json(nullptr), Json(JsonObject{})}) {
    EXPECT_EQ(text(kept_of_child(foreign)), "nothing") << boost::json::serialize(foreign);
    EXPECT_EQ(text(kept_of_plan(foreign)), "nothing");
    EXPECT_EQ(text(kept_of_pod(foreign)), "nothing");
  }
  EXPECT_TRUE(kept_of_child(with_owner("apiVersion", "training.caravan.dev/v1")))
      << "another version of the same job";
}

TEST(KeptFields, AChildIsItsNameItsVersionAndWhoseItIs) {
  Json service = stored(service_intent(job()));
  service.at("metadata").as_object()["annotations"] = JsonObject{{"note", std::string(250'000, 'x')}};
  const auto kept = kept_of_child(service);
  ASSERT_TRUE(kept);
  EXPECT_LT(text(kept).size(), 400U);
  EXPECT_EQ(kube::key_of(*kept), kube::key_of(service));
  EXPECT_EQ(kube::controller_uid_of(*kept), kube::controller_uid_of(service));
}

TEST(KeptFields, OfANetworkPolicyWhatItWasWrittenWithIsKept) {
  Json policy = stored(network_policy_intent(job(), settings()));
  const auto kept = kept_of_network_policy(policy);
  ASSERT_TRUE(kept);
  EXPECT_EQ(noted_content(*kept), noted_content(policy));
  EXPECT_NE(noted_content(*kept), "");
  policy.at("metadata").at("annotations").as_object()[annotations::kContent] = std::string(100'000, 'x');
  EXPECT_LT(text(kept_of_network_policy(policy)).size(), 400U);
}

TEST(KeptFields, OfAPlanOnlyItsFingerprintIsKept) {
  Json plan = stored(plan_intent(job(), "the plan", settings()));
  const std::string written = kube::text_at(plan, {"metadata", "annotations", annotations::kContent});
  plan.at("data").as_object()[kPlanKey] = std::string(1'000'000, 'x');
  plan.at("data").as_object()["junk"] = std::string(100'000, 'x');
  const auto kept = kept_of_plan(plan);
  ASSERT_TRUE(kept);
  EXPECT_EQ(fingerprint_of(*kept), fingerprint_of(plan));
  EXPECT_EQ(kube::text_at(*kept, {"metadata", "annotations", annotations::kContent}), written);
  plan.at("metadata").at("annotations").as_object()[annotations::kContent] = std::string(100'000, 'x');
  EXPECT_LT(text(kept_of_plan(plan)).size(), 600U);
}

TEST(KeptFields, AJobReadsTheSameAfterwards) {
  Json object = job_object();
  object.as_object()["status"] = parsed(R"({"state": "Running", "attempt": 3})");
  object.at("metadata").as_object()["generation"] = 7;
  const Job before = read_job(object);
  const Job after = read_job(kept_of_job(object).value());
  EXPECT_EQ(after.mistakes, std::vector<std::string>{});
  EXPECT_EQ(after.spec.SerializeAsString(), before.spec.SerializeAsString());
  EXPECT_EQ(text_of(after.status), text_of(before.status));
  EXPECT_EQ(after.reference, before.reference);
  EXPECT_EQ(after.generation, 7);
  EXPECT_EQ(after.created_at, before.created_at);
}

TEST(KeptFields, AJobIsStillCancelledAfterwards) {
  Json object = job_object();
  object.at("metadata").as_object()["annotations"] = JsonObject{{annotations::kCancel, kCancelled}};
  EXPECT_TRUE(is_cancelled(read_job(kept_of_job(object).value())));
}

TEST(KeptFields, AChangeOfAJobsMetadataIsStillAChange) {
  const auto cached = [](const Json& object) {
    return std::make_shared<const kube::CachedObject>(kept_of_job(object).value());
  };
  Json object = job_object();
  const auto plain = cached(object);
  EXPECT_FALSE(kube::is_more_than_status({.before = plain, .after = cached(object)}));
  for (const auto& [field, value] : {std::pair<const char*, Json>("labels", JsonObject{{"a", "b"}}),
                                     {"annotations", JsonObject{{"a", std::string(200'000, 'x')}}},
                                     {"finalizers", JsonArray{"example.com/f"}},
                                     {"deletionTimestamp", "2030-01-01T00:00:00Z"}}) {
    Json changed = object;
    changed.at("metadata").as_object()[field] = value;
    EXPECT_TRUE(kube::is_more_than_status({.before = plain, .after = cached(changed)})) << field;
    EXPECT_LT(text(kept_of_job(changed)).size(), 1000U);
  }
}

TEST(KeptFields, ANodeReadsTheSameAfterwards) {
  const Json node = parsed(R"({"metadata": {"name": "n", "uid": "u", "resourceVersion": "7",
      "labels": {"nvidia.com/gpu.product": "H100", "zone": "a"}, "annotations": {"a": "b"}},
      "spec": {"unschedulable": true, "taints": [{"key": "repair", "effect": "NoSchedule"}], "podCIDR": "10.0.0.0/24"},
      "status": {"allocatable": {"cpu": "64", "nvidia.com/gpu": "8"}, "images": [{"names": ["a"]}],
                 "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}]}})");
  const auto kept = kept_of_node(node);
  ASSERT_TRUE(kept);
  EXPECT_EQ(read_node(*kept), read_node(node));
  EXPECT_EQ(read_node(*kept).taints.size(), 1U);
  EXPECT_EQ(kube::find(*kept, {"status", "images"}), nullptr);
}

TEST(KeptFields, OfAJobsLabelsAndAnnotationsThoseThatChildrenAndQueuesReadAreKept) {
  Json object = job_object();
  JsonObject& metadata = object.at("metadata").as_object();
  metadata["labels"] = JsonObject{
      {"team", "speech"}, {"kueue.x-k8s.io/queue-name", "lq"}, {"kueue.x-k8s.io/priority-class", "high"}};
  metadata["annotations"] = JsonObject{{"note", "x"}, {"large", std::string(200'000, 'x')}};
  const Job job = read_job(kept_of_job(object).value());
  EXPECT_EQ(job.labels, read_job(object).labels);
  EXPECT_EQ(inherited(job.labels), (Texts{{"team", "speech"}}));
  EXPECT_EQ(inherited(job.annotations), (Texts{{"note", "x"}}));
  EXPECT_EQ(inherited(job.annotations), inherited(read_job(object).annotations));
}

// On a job, whoever may change jobs can write them; on a pod, the cluster takes orders by them.
TEST(Inherited, AreLabelsAndAnnotationsButThoseOfKubernetesAndOfProgramsThatMadeTheJob) {
  const Texts kept{{"app.kubernetes.io/part-of", "x"},
                   {"billing.example.com/team", "x"},
                   {"notk8s.io/a", "x"},
                   {"team", "x"}};
  Texts all = kept;
  for (const char* name :
       {"container.apparmor.security.beta.kubernetes.io/worker", "kubernetes.io/config", "helm.sh/hook",
        "kubectl.kubernetes.io/restartedAt", "kueue.x-k8s.io/queue-name", "argocd.argoproj.io/sync",
        "seccomp.security.alpha.k8s.io/pod", "training.caravan.dev/job-uid", "hash"})
    all[name] = "x";
  EXPECT_EQ(inherited(all), kept);
}

TEST(KeptFields, AWorkloadReadsTheSameAfterwardsWithoutItsPodSets) {
  const Job job = read_job(job_object());
  JsonObject metadata = child_metadata(job, "ltj-train");
  metadata["uid"] = "u";
  metadata["resourceVersion"] = "7";
  const Json workload = JsonObject{
      {"metadata", metadata},
      {"spec", JsonObject{{"active", false},
                          {"queueName", "lq"},
                          {"priorityClassRef", JsonObject{{"name", "high"}}},
                          {"podSets",
                           JsonArray{JsonObject{{"template", std::string(100'000, 'x')},
                                                {"topologyRequest", JsonObject{{"podSetSliceSize", 2}}}}}}}},
      {"status", parsed(R"({"conditions": [{"type": "Admitted", "status": "True", "observedGeneration": 3}],
          "admission": {"podSetAssignments": [{"name": "worker", "flavors": {"cpu": "spot"}}]},
          "admissionChecks": [{"name": "a", "state": "Pending"}]})")}};
  const auto kept = kept_of_workload(workload);
  ASSERT_TRUE(kept);
  EXPECT_EQ(read_workload(*kept), read_workload(workload));
  EXPECT_EQ(read_workload(*kept).queue, "lq");
  EXPECT_EQ(read_workload(*kept).priority_class, "high");
  EXPECT_EQ(read_workload(*kept).slice_size, 2);
  EXPECT_LT(text(kept).size(), 1000U);
  Json foreign = workload;
  foreign.at("metadata").as_object().erase("ownerReferences");
  EXPECT_EQ(kept_of_workload(foreign), std::nullopt);
}

}  // namespace
}  // namespace caravan::controller::testing
