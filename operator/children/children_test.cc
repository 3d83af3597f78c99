// The children of a job against golden files, and the certificates with OpenSSL.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <boost/json/serialize.hpp>
#include <fstream>
#include <sstream>

#include "common/quantity.h"
#include "common/testing/checkout.h"
#include "operator/children/certificates.h"
#include "operator/children/job_objects.h"
#include "operator/children/plan_object.h"
#include "operator/children/pod_group.h"
#include "operator/children/pod_resources.h"
#include "operator/children/worker_pod.h"
#include "operator/children/workload.h"
#include "operator/controller/planning_policy.h"
#include "operator/testing/jobs.h"
#include "operator/testing/pretty_json.h"

namespace caravan::controller::testing {
namespace {

// CARAVAN_WRITE_GOLDEN=1 writes the files anew.
void expect_golden(const std::string& name, const kube::Json& object) {
  const std::string path = test::source_folder() + "/operator/children/testdata/" + name;
  const std::string text = pretty(object) + "\n";
  if (std::getenv("CARAVAN_WRITE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ostringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, golden.str()) << path;
}

v1alpha1::JobPlan plan_of(const Job& job) {
  const PlanVerdict verdict = judge_plan(job, {});
  EXPECT_TRUE(verdict.plan) << verdict.message;
  return verdict.plan.value_or(v1alpha1::JobPlan());
}

const kube::Json& container_of(const kube::Json& pod) {
  return kube::find(pod, {"spec", "containers"})->as_array()[0];
}

const kube::Json& resources_of(const kube::Json& pod) {
  return container_of(pod).at("resources");
}

TEST(Children, AreAsTheGoldenFilesShow) {
  const Job plain = job();
  expect_golden("service.json", service_intent(plain));
  expect_golden("service_account.json", account_intent(plain));
  expect_golden("network_policy.json", network_policy_intent(plain, settings()));
  expect_golden("plan.json", plan_intent(plain, "{}", settings()));
  expect_golden(
      "pod_0.json",
      pod_intent(plain, plan_of(plain),
                 {.node = 0, .attempt = 3, .restarts = 2, .short_attempts = 1, .certificates = kCertificates},
                 settings()));
  Job rich = job(R"(, "worker": {"image": "registry.example/own:2", "imagePullPolicy": "Always",
      "env": [{"name": "MY_FLAG", "value": "1"},
              {"name": "TOKEN", "secretKey": {"name": "wandb", "key": "token"}},
              {"name": "PROJECT", "configMapKey": {"name": "settings", "key": "project"}}],
      "resources": {"cpu": "4", "memory": "16Gi"}, "nodeSelector": {"pool": "train"},
      "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
      "priorityClassName": "high", "serviceAccountName": "mine", "sharedMemory": "2Gi", "scratch": "50Gi",
      "imagePullSecrets": ["registry"], "labels": {"team": "a"},
      "annotations": {"k8s.v1.cni.cncf.io/networks": "fabric"},
      "extraResources": {"rdma/hca": "1", "hugepages-2Mi": "1Gi"},
      "runtimeClassName": "nvidia", "schedulerName": "bin-packer",
      "resourceClaims": [{"name": "nic", "templateName": "nics"}, {"name": "switch", "claimName": "shared"}],
      "nodeAffinity": [{"key": "zone", "operator": "In", "values": ["a", "b"]},
                       {"key": "spot", "operator": "DoesNotExist"}],
      "volumes": [{"name": "models", "claimName": "models", "mountPath": "/mnt/models"}]},
      "scheduling": {"topology": {"mode": "Required", "key": "rack"}})");
  v1alpha1::EnvironmentVariable& forged =
      *rich.spec.mutable_worker()->add_env();  // from before it was refused
  forged.set_name("CARAVAN_JOB_UID");
  forged.set_value("forged");
  expect_golden(
      "pod_1_rich.json",
      pod_intent(rich, plan_of(rich),
                 {.node = 1, .certificates = kCertificates, .product_label = "NVIDIA-H100-80GB-HBM3"},
                 settings()));
}

// Two copies of the model of two nodes each, in a queue.
Job queued() {
  return job(R"(, "parallelism": {"mode": "Manual", "tensor": 1, "pipeline": 2, "data": 2},
      "resources": {"devices": 4, "devicesPerNode": 1, "device": {"kind": "GPU", "product": "H100-80GB"}},
      "worker": {"resources": {"cpu": "8", "memory": "32Gi"}, "nodeSelector": {"pool": "train"},
                 "env": [{"name": "A", "value": "1"}]},
      "scheduling": {"gang": {"provider": "Kueue"}, "queue": "lq", "topology": {"mode": "Required", "key": "rack"}})");
}

TEST(Children, AWorkloadAsksForExactlyWhatItsPodsAskFor) {
  const Job job = queued();
  const kube::Json workload = workload_intent(
      job, plan_of(job),
      WorkloadPriority{.group = kKueueGroup, .kind = "WorkloadPriorityClass", .name = "high", .value = 1000},
      settings());
  expect_golden("workload.json", workload);
  const kube::Json& of_the_queue = workload.at("spec").at("podSets").as_array()[0].at("template").at("spec");
  const kube::Json pod = pod_intent(job, plan_of(job), {.node = 0}, settings());
  EXPECT_EQ(of_the_queue.at("containers").as_array()[0].at("resources"),
            pod.at("spec").at("containers").as_array()[0].at("resources"));
  EXPECT_EQ(of_the_queue.at("nodeSelector"), pod.at("spec").at("nodeSelector"));
  EXPECT_EQ(of_the_queue.at("affinity"), pod.at("spec").at("affinity"));
}

TEST(Children, AWorkloadAsksForEnoughWherePodsHaveNotAllAsManyRanks) {
  Job uneven = gpu_job(R"({"product": "H100-80GB"})", "llama3.2-1b",
                       R"(, "scheduling": {"gang": {"provider": "Kueue"}, "queue": "lq"})");
  uneven.spec.mutable_resources()->set_devices(20);
  uneven.spec.mutable_training()->set_global_batch_sequences(20);
  const v1alpha1::JobPlan plan = plan_of(uneven);
  const auto gpus_of = [](const kube::Json& spec) {
    return kube::text_at(spec.at("containers").as_array()[0], {"resources", "limits", "nvidia.com/gpu"});
  };
  std::vector<std::string> of_pods;
  for (int node = 0; node < plan.nodes(); ++node)
    of_pods.push_back(gpus_of(pod_intent(uneven, plan, {.node = node}, settings()).at("spec")));
  EXPECT_THAT(of_pods, ::testing::ElementsAre("7", "7", "6"));
  const kube::Json workload = workload_intent(uneven, plan, {}, settings());
  const kube::Json& pods = workload.at("spec").at("podSets").as_array()[0];
  EXPECT_EQ(pods.at("count"), kube::Json(3));
  EXPECT_EQ(gpus_of(pods.at("template").at("spec")), "7");
}

TEST(Children, APodGroupNamesTheGangAndItsPodsNameTheGroupAndItsScheduler) {
  struct Case {
    const char* provider;
    const char* file;
    const char* scheduler;
  };
  for (const Case& c : {Case{"Volcano", "pod_group_volcano.json", "volcano"},
                        {"Coscheduling", "pod_group_coscheduling.json", "scheduler-plugins-scheduler"}}) {
    const bool volcano = std::string(c.provider) == "Volcano";
    const Job gang = job(fmt::format(
        R"(, "worker": {{"priorityClassName": "high"}}, "scheduling": {{"gang": {{"provider": "{}", "timeoutSeconds": 90}}{}}})",
        c.provider, volcano ? R"(, "queue": "gold")" : ""));
    expect_golden(c.file, pod_group_intent(gang, plan_of(gang)).object);
    PodPlacement placement;
    join_pod_group(gang, placement);
    const kube::Json pod = pod_intent(gang, plan_of(gang), {.node = 1, .placement = &placement}, settings());
    EXPECT_EQ(kube::text_at(pod, {"spec", "schedulerName"}), c.scheduler);
    EXPECT_EQ(volcano ? kube::text_at(pod, {"metadata", "annotations", annotations::kVolcanoGroup})
                      : kube::text_at(pod, {"metadata", "labels", labels::kCoschedulingGroup}),
              "train");
  }
}

TEST(Children, WhoPlacesThePodsAddsToThemAndTheJobsOwnWordsStay) {
  const Job own = job(R"(, "worker": {"nodeSelector": {"pool": "mine"},
      "tolerations": [{"key": "a", "operator": "Exists"}]})");
  const PodPlacement placement{
      .node_selector = {{"pool", "other"}, {"kind", "spot"}},
      .tolerations = kube::JsonArray{kube::JsonObject{{"key", "b"}, {"operator", "Exists"}}},
      .labels = {{labels::kNodeIndex, "forged"}, {"more", "yes"}},
      .domains = {{{"rack", "r1"}}, {{"rack", "r2"}}},
      .domain_of_node = {0, 1}};
  const PodRequest request{.node = 1, .placement = &placement};
  const kube::Json pod = pod_intent(own, plan_of(own), request, settings());
  const kube::JsonObject selector{{"pool", "mine"}, {"kind", "spot"}, {"rack", "r2"}};
  EXPECT_EQ(pod.at("spec").at("nodeSelector"), kube::Json(selector));
  EXPECT_EQ(pod.at("spec").at("tolerations").as_array().size(), 2U);
  EXPECT_EQ(kube::text_at(pod, {"metadata", "labels", labels::kNodeIndex}), "1");
  EXPECT_EQ(kube::text_at(pod, {"metadata", "labels", "more"}), "yes");
  EXPECT_EQ(kube::text_at(pod, {"metadata", "labels", labels::kTopologyDomain}),
            domain_name({{"rack", "r2"}}));

  PodPlacement preferred = placement;
  preferred.domains_are_preferred = true;
  const kube::Json free = pod_intent(own, plan_of(own), {.node = 0, .placement = &preferred}, settings());
  EXPECT_EQ(kube::text_at(free, {"spec", "nodeSelector", "rack"}), "");
  EXPECT_NE(kube::find(free, {"spec", "affinity", "nodeAffinity",
                              "preferredDuringSchedulingIgnoredDuringExecution"}),
            nullptr);
}

TEST(Children, InheritTheLabelsAndAnnotationsOfTheirJobButNotThoseOfOtherPrograms) {
  Job labelled = job();
  labelled.labels = {{"team", "speech"},
                     {"app.kubernetes.io/name", "mine"},
                     {"app.kubernetes.io/part-of", "translator"},
                     {"training.caravan.dev/node-index", "7"},
                     {"kueue.x-k8s.io/queue-name", "lq"}};
  labelled.annotations = {{"note", "x"},
                          {"large", std::string(20'000, 'x')},
                          {"kubectl.kubernetes.io/last-applied-configuration", "{}"}};
  const kube::Json service = service_intent(labelled);
  EXPECT_EQ(kube::text_at(service, {"metadata", "labels", "team"}), "speech");
  EXPECT_EQ(kube::text_at(service, {"metadata", "labels", labels::kName}), "caravan");
  const kube::Json pod = pod_intent(labelled, plan_of(labelled), {.node = 1}, settings());
  EXPECT_EQ(kube::text_at(pod, {"metadata", "labels", "team"}), "speech");
  EXPECT_EQ(kube::text_at(pod, {"metadata", "labels", "app.kubernetes.io/part-of"}), "translator");
  EXPECT_EQ(kube::text_at(pod, {"metadata", "labels", labels::kNodeIndex}), "1");
  EXPECT_EQ(kube::text_at(pod, {"metadata", "labels", labels::kQueueName}), "")
      << "Kueue would queue the pod by itself";
  EXPECT_EQ(pod.at("metadata").at("annotations"), kube::Json(kube::JsonObject{{"note", "x"}}));
  const kube::Json plan = plan_intent(labelled, "{}", settings());
  EXPECT_EQ(kube::text_at(plan, {"metadata", "annotations", "note"}), "x");
  EXPECT_NE(kube::text_at(plan, {"metadata", "annotations", annotations::kContent}), "");
}

TEST(Children, PodsOnGpusAreAsTheGoldenFileShows) {
  const Job on_gpus = gpu_job(R"({"product": "H100-80GB"})");
  const PodRequest request{
      .node = 1, .certificates = kCertificates, .product_label = "NVIDIA-H100-80GB-HBM3"};
  expect_golden("pod_1_gpus.json", pod_intent(on_gpus, plan_of(on_gpus), request, settings()));
}

TEST(Children, TheImageIsTheJobsOwnOrThatOfItsDevices) {
  struct Case {
    Job job;
    const char* of_gpus;
    const char* image;
  };
  const Job own = gpu_job(R"({"product": "H100-80GB"})", "llama3-8b", R"(, "worker": {"image": "own:2"})");
  const Job on_gpus = gpu_job(R"({"product": "H100-80GB"})");
  for (const Case& each : {Case{job(), "cuda:1", "both:1"}, Case{on_gpus, "cuda:1", "cuda:1"},
                           Case{on_gpus, "", "both:1"}, Case{own, "cuda:1", "own:2"}}) {
    Settings by_operator = settings();
    by_operator.worker_image = "both:1";
    by_operator.worker_image_cuda = each.of_gpus;
    const kube::Json pod = pod_intent(each.job, plan_of(each.job), {}, by_operator);
    EXPECT_EQ(kube::text_at(container_of(pod), {"image"}), each.image);
  }
}

TEST(Children, ThePlatformIsAskedForNoUserWhereItAssignsThem) {
  Settings assigned = settings();
  assigned.platform_assigns_users = true;
  const kube::Json pod = pod_intent(job(), plan_of(job()), {.node = 0}, assigned);
  const kube::JsonObject expected{{"runAsNonRoot", true},
                                  {"seccompProfile", kube::JsonObject{{"type", "RuntimeDefault"}}}};
  EXPECT_EQ(*kube::find(pod, {"spec", "securityContext"}), kube::Json(expected));
}

TEST(Children, EveryAgentBearsSilenceForAsLongAsTheOperatorWasTold) {
  Settings patient = settings();
  patient.agent_patience = std::chrono::seconds(90);
  for (const int node : {0, 1}) {
    const kube::Json pod = pod_intent(job(), plan_of(job()), {.node = node}, patient);
    const auto& containers = kube::find(pod, {"spec", "containers"})->as_array();
    EXPECT_THAT(containers[0].at("args").as_array(),
                ::testing::Contains(kube::Json("--patience-milliseconds=90000")));
  }
}

TEST(Children, PodsGoToTheProductOfThePlanUnlessTheJobSelectsAnother) {
  const auto selected = [](const Job& job) {
    const PodRequest request{.product_label = "NVIDIA-H100-80GB-HBM3"};
    return kube::text_at(pod_intent(job, plan_of(job), request, settings()),
                         {"spec", "nodeSelector", labels::kNvidiaProduct});
  };
  EXPECT_EQ(selected(job()), "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(selected(job(R"(, "worker": {"nodeSelector": {"nvidia.com/gpu.product": "mine"}})")), "mine");
}

// Of which a node must meet one.
kube::JsonArray node_terms_of(const Job& job, const PodRequest& request = {}) {
  const kube::Json pod = pod_intent(job, plan_of(job), request, settings());
  const kube::Json* terms =
      kube::find(pod, {"spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
                       "nodeSelectorTerms"});
  return terms == nullptr ? kube::JsonArray() : terms->as_array();
}

// Those of another product may be there already; an autoscaler does not know which label a new node will
// have.
TEST(Children, WhereNoNodeToldOfTheProductPodsGoToNodesThatNameItOrNone) {
  const Job named =
      gpu_job(R"({"product": "H100-80GB"})", "llama3-8b",
              R"(, "worker": {"nodeAffinity": [{"key": "zone", "operator": "In", "values": ["a"]}]})");
  const kube::JsonArray terms = node_terms_of(named);
  ASSERT_EQ(terms.size(), 2U);
  const kube::Json own =
      kube::JsonObject{{"key", "zone"}, {"operator", "In"}, {"values", kube::JsonArray{"a"}}};
  for (const kube::Json& term : terms) EXPECT_EQ(term.at("matchExpressions").at(0), own);
  const kube::Json& names_it = terms[0].at("matchExpressions").at(1);
  EXPECT_EQ(kube::text_at(names_it, {"key"}), labels::kNvidiaProduct);
  EXPECT_EQ(kube::text_at(names_it, {"operator"}), "In");
  EXPECT_THAT(names_it.at("values").as_array(), ::testing::Contains(kube::Json("NVIDIA-H100-80GB-HBM3")));
  EXPECT_THAT(names_it.at("values").as_array(),
              ::testing::Not(::testing::Contains(kube::Json("NVIDIA-A100-SXM4-40GB"))));
  const kube::JsonObject names_none{{"key", labels::kNvidiaProduct}, {"operator", "DoesNotExist"}};
  EXPECT_EQ(terms[1].at("matchExpressions").at(1), kube::Json(names_none));
}

TEST(Children, PodsAreBoundToNoProductThatTheJobLeavesOpenOrBindsItself) {
  const auto with = [](const char* device, const std::string& worker) {
    return gpu_job(device, "llama3-8b", fmt::format(R"(, "worker": {{{}}})", worker), 8);
  };
  constexpr const char* kH100 = R"({"product": "H100-80GB"})";
  EXPECT_EQ(node_terms_of(with(kH100, "")).size(), 2U);
  EXPECT_THAT(node_terms_of(with(kH100, ""), {.product_label = "NVIDIA-H100-80GB-HBM3"}),
              ::testing::IsEmpty());
  EXPECT_THAT(node_terms_of(with(R"({"memory": "80Gi"})", "")), ::testing::IsEmpty());
  EXPECT_THAT(node_terms_of(with(R"({"product": "Z900", "memory": "80Gi"})", "")), ::testing::IsEmpty());
  EXPECT_THAT(node_terms_of(with(kH100, R"("nodeSelector": {"nvidia.com/gpu.product": "mine"})")),
              ::testing::IsEmpty());
  EXPECT_THAT(
      node_terms_of(with(kH100, R"("resourceClaims": [{"name": "devices", "templateName": "gpus"}])")),
      ::testing::IsEmpty());
  constexpr const char* kOwn =
      R"("nodeAffinity": [{"key": "nvidia.com/gpu.product", "operator": "In", "values": ["mine"]}])";
  EXPECT_EQ(node_terms_of(with(kH100, kOwn)).size(), 1U);
}

TEST(Children, PodsOnAmdGpusGoToTheProductByTheLabelOfItsVendor) {
  const Job on_amd = gpu_job(R"({"resourceName": "amd.com/gpu", "product": "MI300X"})");
  const kube::Json pod =
      pod_intent(on_amd, plan_of(on_amd), {.product_label = "AMD_Instinct_MI300X_OAM"}, settings());
  const kube::JsonObject expected{{"amd.com/gpu.product-name", "AMD_Instinct_MI300X_OAM"}};
  EXPECT_EQ(*kube::find(pod, {"spec", "nodeSelector"}), kube::Json(expected));
  EXPECT_EQ(kube::text_at(resources_of(pod), {"limits", "amd.com/gpu"}), "8");
}

TEST(Children, LabelsOfTheJobsUserDoNotReplaceOurs) {
  Job forged = job(R"(, "worker": {"labels": {"team": "a"}})");
  auto& labels = *forged.spec.mutable_worker()->mutable_labels();  // from before they were refused
  labels[labels::kJobUid] = labels[labels::kManagedBy] = labels[labels::kNodeIndex] = "forged";
  const kube::Json pod = pod_intent(forged, plan_of(forged), {.node = 1}, settings());
  EXPECT_EQ(kube::text_at(pod, {"metadata", "labels", "team"}), "a");
  EXPECT_EQ(kube::text_at(pod, {"metadata", "labels", labels::kJobUid}), forged.uid);
  EXPECT_EQ(kube::text_at(pod, {"metadata", "labels", labels::kManagedBy}), kManager);
  EXPECT_EQ(kube::text_at(pod, {"metadata", "labels", labels::kNodeIndex}), "1");
}

// 4 GiB, and a MiB for the tokens of its sequences.
TEST(Children, RanksOnGpusGetCoresAndMemoryNearThemWhereTheJobDoesNotSay) {
  struct Case {
    const char* worker;
    int cores_per_gpu;
    const char* cpu;
    const char* memory;
  };
  for (const Case& each :
       {Case{"{}", 8, "64", "32776Mi"}, Case{"{}", 3, "24", "32776Mi"}, Case{"{}", 0, "", "32776Mi"},
        Case{R"({"resources": {"cpu": "10"}})", 8, "10", "32776Mi"},
        Case{R"({"resources": {"memory": "100Gi"}})", 8, "64", "100Gi"}}) {
    const Job asked =
        gpu_job(R"({"product": "H100-80GB"})", "llama3-8b", fmt::format(R"(, "worker": {})", each.worker));
    Settings by_operator = settings();
    by_operator.cores_per_gpu = each.cores_per_gpu;
    const kube::Json pod = pod_intent(asked, plan_of(asked), {}, by_operator);
    EXPECT_EQ(kube::text_at(resources_of(pod), {"requests", "cpu"}), each.cpu) << each.worker;
    EXPECT_EQ(kube::text_at(resources_of(pod), {"requests", "memory"}), each.memory) << each.worker;
    const bool is_given = std::string(each.worker).find("memory") != std::string::npos;
    EXPECT_EQ(kube::text_at(resources_of(pod), {"limits", "memory"}), is_given ? each.memory : "")
        << "only what the job says is a limit";
    EXPECT_EQ(kube::find(resources_of(pod), {"limits", "cpu"}), nullptr);
  }
}

TEST(Children, PodsThatWriteCheckpointsAskForTheMemoryOfTheirCopies) {
  Job saves = gpu_job(R"({"product": "H100-80GB"})");
  saves.spec.mutable_checkpoint()->set_claim_name("states");
  saves.spec.mutable_checkpoint()->set_path("run");
  const v1alpha1::JobPlan plan = plan_of(saves);
  ASSERT_GT(plan.plan().host_snapshot_bytes(), 0);
  const auto asked = parse_quantity(
      kube::text_at(resources_of(pod_intent(saves, plan, {}, settings())), {"requests", "memory"}));
  ASSERT_TRUE(asked);
  EXPECT_EQ(*asked, (std::int64_t{32776} << 20) + plan.plan().host_snapshot_bytes());
}

TEST(Children, RanksOnProcessorsAskForWhatTheJobSaysAlone) {
  const kube::Json pod = pod_intent(job(), plan_of(job()), {}, settings());
  const kube::JsonObject scratch{{"ephemeral-storage", "2Gi"}};
  const kube::JsonObject expected{{"requests", scratch}, {"limits", scratch}};
  EXPECT_EQ(resources_of(pod), kube::Json(expected));
}

TEST(Children, AClaimNamedDevicesStandsInForTheResourceOfTheRanks) {
  const Job claims =
      gpu_job(R"({"product": "H100-80GB"})", "llama3-8b",
              R"(, "worker": {"resourceClaims": [{"name": "devices", "templateName": "gpus"}]})", 8);
  const kube::Json pod = pod_intent(claims, plan_of(claims), {}, settings());
  EXPECT_EQ(kube::find(resources_of(pod), {"limits", "nvidia.com/gpu"}), nullptr);
  EXPECT_EQ(*kube::find(resources_of(pod), {"claims"}),
            kube::Json(kube::JsonArray{kube::JsonObject{{"name", "devices"}}}));
  EXPECT_EQ(*kube::find(pod, {"spec", "resourceClaims"}),
            kube::Json(kube::JsonArray{
                kube::JsonObject{{"name", "devices"}, {"resourceClaimTemplateName", "gpus"}}}));
}

TEST(Children, PodsOnTheNetworkOfTheirNodeKeepOthersOffItByTheirPorts) {
  const Job on_host = job(R"(, "worker": {"hostNetwork": true})");
  for (const int node : {0, 1}) {
    const kube::Json pod = pod_intent(on_host, plan_of(on_host), {.node = node}, settings());
    EXPECT_TRUE(kube::flag_at(pod, {"spec", "hostNetwork"}));
    EXPECT_EQ(kube::text_at(pod, {"spec", "dnsPolicy"}), "ClusterFirstWithHostNet");
    std::vector<std::int64_t> taken;
    for (const kube::Json& port : container_of(pod).at("ports").as_array()) {
      EXPECT_EQ(port.at("hostPort"), port.at("containerPort"));
      taken.push_back(port.at("hostPort").to_number<std::int64_t>());
    }
    const std::vector<std::int64_t> all{kMetricsPort, kCoordinatorPort};
    EXPECT_THAT(taken, ::testing::ElementsAreArray(all.begin(), node == 0 ? all.end() : all.begin() + 1));
  }
  EXPECT_EQ(kube::find(pod_intent(job(), plan_of(job()), {}, settings()), {"spec", "hostNetwork"}), nullptr);
}

// The pod's volumes of claims, with where they are mounted.
std::vector<std::string> claims_of(const Job& job) {
  const kube::Json pod = pod_intent(job, plan_of(job), {.node = 1}, settings());
  std::vector<std::string> claims;
  for (const kube::Json& volume : kube::find(pod, {"spec", "volumes"})->as_array()) {
    if (kube::find(volume, {"persistentVolumeClaim"}) == nullptr) continue;
    const std::string name = kube::text_at(volume, {"name"});
    std::string line =
        fmt::format("{}: {}", name, kube::text_at(volume, {"persistentVolumeClaim", "claimName"}));
    if (kube::find(volume, {"persistentVolumeClaim", "readOnly"})->as_bool()) line += " read only";
    const auto& container = kube::find(pod, {"spec", "containers"})->as_array()[0];
    for (const kube::Json& mount : container.at("volumeMounts").as_array()) {
      if (kube::text_at(mount, {"name"}) != name) continue;
      line += fmt::format(", {}{}", kube::text_at(mount, {"mountPath"}),
                          mount.at("readOnly").as_bool() ? " read only" : "");
    }
    claims.push_back(line);
  }
  return claims;
}

Job job_with_claims(const char* weights, const char* checkpoints) {
  Job result = job();
  result.spec.mutable_model()->mutable_init_from()->set_claim_name(weights);
  result.spec.mutable_model()->mutable_init_from()->set_path("llama");
  result.spec.mutable_checkpoint()->set_claim_name(checkpoints);
  result.spec.mutable_checkpoint()->set_path("run");
  return result;
}

TEST(Children, APodMountsTheClaimsOfItsJob) {
  EXPECT_THAT(claims_of(job_with_claims("models", "states")),
              ::testing::ElementsAre("data: corpus read only, /data read only",
                                     "weights: models read only, /weights read only",
                                     "checkpoints: states, /checkpoints"));
}

TEST(Children, AClaimThatIsNamedTwiceIsOneVolume) {
  EXPECT_THAT(claims_of(job_with_claims("corpus", "corpus")),
              ::testing::ElementsAre("data: corpus, /data read only, /weights read only, /checkpoints"));
  EXPECT_THAT(claims_of(job_with_claims("corpus", "states")),
              ::testing::ElementsAre("data: corpus read only, /data read only, /weights read only",
                                     "checkpoints: states, /checkpoints"));
  EXPECT_THAT(claims_of(job_with_claims("states", "states")),
              ::testing::ElementsAre("data: corpus read only, /data read only",
                                     "weights: states, /weights read only, /checkpoints"));
}

TEST(Children, FurtherVolumesOfAClaimThatIsMountedAlreadyAreTheSameVolume) {
  Job job = job_with_claims("models", "states");
  for (const char* name : {"models", "tools"}) {
    v1alpha1::ExtraVolume& further = *job.spec.mutable_worker()->add_volumes();
    further.set_name(name);
    further.set_claim_name(name);
    further.set_mount_path(std::string("/mnt/") + name);
  }
  EXPECT_THAT(claims_of(job),
              ::testing::ElementsAre("data: corpus read only, /data read only",
                                     "weights: models read only, /weights read only, /mnt/models read only",
                                     "checkpoints: states, /checkpoints",
                                     "volume-tools: tools read only, /mnt/tools read only"));
}

TEST(Children, PodsAvoidMachinesByNameBesideTheDomainThatTheyPrefer) {
  const PodPlacement racked{
      .domains = {{{"rack", "r1"}}}, .domain_of_node = {0}, .domains_are_preferred = true};
  const PodRequest request{.avoided_machines = {"bad", "worse"}, .placement = &racked};
  const kube::Json pod = pod_intent(job(), plan_of(job()), request, settings());
  const auto avoids = [](const char* machine) {
    return kube::Json(kube::JsonObject{
        {"key", "metadata.name"}, {"operator", "NotIn"}, {"values", kube::JsonArray{machine}}});
  };
  const kube::JsonObject in_the_rack{{"key", "rack"}, {"operator", "In"}, {"values", kube::JsonArray{"r1"}}};
  const kube::Json expected = kube::JsonArray{
      kube::JsonObject{
          {"weight", 100},
          {"preference", kube::JsonObject{{"matchFields", kube::JsonArray{avoids("bad"), avoids("worse")}}}}},
      kube::JsonObject{{"weight", 100},
                       {"preference", kube::JsonObject{{"matchExpressions", kube::JsonArray{in_the_rack}}}}}};
  const kube::Json* preferred = kube::find(
      pod, {"spec", "affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"});
  ASSERT_NE(preferred, nullptr);
  EXPECT_EQ(*preferred, expected);
  EXPECT_EQ(kube::find(pod_intent(job(), plan_of(job()), {}, settings()), {"spec", "affinity"}), nullptr);
}

TEST(Children, ASecondPlanAndThePodsThatReadItAgreeOnItsName) {
  Job planned_again = job();
  planned_again.status.mutable_memory_correction()->set_attempt(4);
  const kube::Json plan = plan_intent(planned_again, "{}", settings());
  EXPECT_EQ(kube::key_of(plan).name, "train-plan-a5");
  const PodRequest request{.attempt = 7, .first_attempt_of_plan = 5};
  const kube::Json pod = pod_intent(job(), plan_of(job()), request, settings());
  EXPECT_EQ(kube::text_at(kube::find(pod, {"spec", "volumes"})->as_array()[0], {"configMap", "name"}),
            "train-plan-a5");
}

TEST(PlanObject, TheFingerprintIsOfTheContentThatIsOurs) {
  const kube::Json intent = plan_intent(job(), "{}", settings());
  const std::string written = fingerprint_of(intent);
  EXPECT_EQ(kube::text_at(intent, {"metadata", "annotations", annotations::kContent}), written);
  kube::Json changed = intent;
  changed.as_object()["data"].as_object()["notes"] = "of a user";
  changed.as_object()["metadata"].as_object()["resourceVersion"] = "7";
  EXPECT_EQ(fingerprint_of(changed), written);
  changed.as_object()["data"].as_object()[kPlanKey] = "{} ";
  EXPECT_NE(fingerprint_of(changed), written);
  EXPECT_NE(fingerprint_of(plan_intent(job(), "other", settings())), written);
}

TEST(PlanObject, TrimmedItHasItsOwnerAndFingerprintsAndNoContent) {
  kube::Json intent = plan_intent(job(), std::string(100'000, '1'), settings());
  intent.as_object()["metadata"].as_object()["annotations"].as_object()["long"] = std::string(100'000, 'a');
  const kube::Json trimmed = trim_plan_object(intent);
  EXPECT_EQ(fingerprint_of(trimmed), fingerprint_of(intent));
  EXPECT_EQ(trim_plan_object(trimmed), trimmed);
  EXPECT_EQ(kube::controller_uid_of(trimmed), job().uid);
  EXPECT_EQ(kube::key_of(trimmed), kube::key_of(intent));
  EXPECT_EQ(kube::text_at(trimmed, {"metadata", "annotations", annotations::kContent}),
            fingerprint_of(intent));
  EXPECT_LT(boost::json::serialize(trimmed).size(), 1500U);
}

TEST(Children, ThreadsOfARankComeFromTheJobAlone) {
  EXPECT_EQ(threads_per_rank(job().spec, 2), 1);
  EXPECT_EQ(threads_per_rank(job(R"(, "worker": {"resources": {"cpu": "8"}})").spec, 2), 4);
  EXPECT_EQ(threads_per_rank(job(R"(, "worker": {"resources": {"cpu": "500m"}})").spec, 2), 1);
}

using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

Certificate read_certificate(const kube::Json& secret, const std::string& key) {
  const std::string pem = kube::text_at(secret, {"stringData", key});
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free_all);
  return {PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), &X509_free};
}

bool is_signed_for(X509* certificate, X509* authority, int purpose) {
  const std::unique_ptr<X509_STORE, decltype(&X509_STORE_free)> store(X509_STORE_new(), &X509_STORE_free);
  X509_STORE_add_cert(store.get(), authority);
  const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> context(X509_STORE_CTX_new(),
                                                                                &X509_STORE_CTX_free);
  X509_STORE_CTX_init(context.get(), store.get(), certificate, nullptr);
  X509_STORE_CTX_set_purpose(context.get(), purpose);
  return X509_verify_cert(context.get()) == 1;
}

// The URI and DNS names that a certificate bears.
std::vector<std::string> names_of(X509* certificate) {
  std::vector<std::string> found;
  auto* all =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(all); ++i) {
    const ASN1_IA5STRING* name = sk_GENERAL_NAME_value(all, i)->d.ia5;  // of both kinds
    found.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name)));
  }
  GENERAL_NAMES_free(all);
  return found;
}

TEST(Certificates, NameTheirJobAndNodeAndOnlyThatOfTheCoordinatorMayServe) {
  const auto set = new_certificate_set(job());
  ASSERT_TRUE(set);
  const auto secret = certificates_intent(job(), *set, 0, 2);
  ASSERT_TRUE(secret);
  const Certificate authority = read_certificate(*secret, "ca.crt");
  const Certificate first = read_certificate(*secret, "0.crt");
  const Certificate second = read_certificate(*secret, "1.crt");
  EXPECT_THAT(names_of(first.get()), ::testing::UnorderedElementsAre(
                                         "train-0.train.team.svc", "caravan://job/" + job().uid + "/node/0"));
  EXPECT_THAT(names_of(second.get()), ::testing::ElementsAre("caravan://job/" + job().uid + "/node/1"));
  EXPECT_TRUE(is_signed_for(first.get(), authority.get(), X509_PURPOSE_SSL_SERVER));
  EXPECT_TRUE(is_signed_for(first.get(), authority.get(), X509_PURPOSE_SSL_CLIENT));
  EXPECT_FALSE(is_signed_for(second.get(), authority.get(), X509_PURPOSE_SSL_SERVER));
  EXPECT_TRUE(is_signed_for(second.get(), authority.get(), X509_PURPOSE_SSL_CLIENT));
}

TEST(Certificates, OfOneSetHaveAnAuthorityThatNoOtherHas) {
  const auto set = new_certificate_set(job());
  const auto other = new_certificate_set(job());
  ASSERT_TRUE(set && other);
  EXPECT_NE(set->name, other->name);
  const auto secret = certificates_intent(job(), *set, 1, 100);
  const Certificate authority = read_certificate(certificates_intent(job(), *set, 0, 100).value(), "ca.crt");
  const Certificate foreign = read_certificate(certificates_intent(job(), *other, 0, 100).value(), "ca.crt");
  const Certificate last = read_certificate(*secret, "99.crt");
  EXPECT_TRUE(is_signed_for(last.get(), authority.get(), X509_PURPOSE_SSL_CLIENT));
  EXPECT_FALSE(is_signed_for(last.get(), foreign.get(), X509_PURPOSE_SSL_CLIENT));
}

// An object may have 1 MiB.
TEST(Certificates, OfTheLargestJobFitIntoSecretsInWhichEachPodFindsItsOwn) {
  constexpr int kNodes = 16384;
  const auto set = new_certificate_set(job());
  ASSERT_TRUE(set);
  const int last = secrets_of(kNodes) - 1;
  const auto secret = certificates_intent(job(), *set, last, kNodes);
  ASSERT_TRUE(secret);
  EXPECT_LT(pretty(*secret).size(), 200'000U);
  const kube::Json volume = certificate_volume(job(), set->name, kNodes - 1);
  EXPECT_EQ(kube::text_at(volume, {"secretName"}), kube::text_at(*secret, {"metadata", "name"}));
  std::vector<std::string> files;
  for (const kube::Json& item : volume.at("items").get_array()) {
    EXPECT_NE(kube::text_at(*secret, {"stringData", kube::text_at(item, {"key"})}), "");
    files.push_back(kube::text_at(item, {"path"}));
  }
  EXPECT_THAT(files, ::testing::ElementsAre("ca.crt", "tls.crt", "tls.key")) << "its own alone";
  EXPECT_EQ(secrets_of(1), 1);
  EXPECT_EQ(secrets_of(64), 1);
  EXPECT_EQ(secrets_of(65), 2);
}

}  // namespace
}  // namespace caravan::controller::testing
