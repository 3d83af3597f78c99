// Jobs that cannot run: the condition says why and what to do, and heals when the cause goes.
#include "tests/kube/operator_program.h"

namespace caravan::controller::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// As the scheduler and the kubelet of Kubernetes 1.34 write it.
JsonObject unschedulable(const std::string& message) {
  return {{"phase", "Pending"},
          {"conditions", JsonArray{JsonObject{{"type", "PodScheduled"},
                                              {"status", "False"},
                                              {"reason", "Unschedulable"},
                                              {"message", message}}}}};
}
JsonObject waiting(const std::string& reason, const std::string& message) {
  JsonObject state{{"reason", reason}};
  if (!message.empty()) state["message"] = message;
  return {{"phase", "Pending"},
          {"conditions", JsonArray{JsonObject{{"type", "PodScheduled"},
                                              {"status", "True"},
                                              {"lastTransitionTime", "2026-01-01T00:00:00Z"}}}},
          {"containerStatuses", JsonArray{JsonObject{{"name", "worker"},
                                                     {"image", "worker:test"},
                                                     {"imageID", ""},
                                                     {"ready", false},
                                                     {"restartCount", 0},
                                                     {"state", JsonObject{{"waiting", std::move(state)}}}}}}};
}

class Quota : public OperatorProgram {
 protected:
  // In force when this returns; the quota controller would write its status.
  void forbid_pods() {
    const JsonObject metadata{{"name", "q"}, {"namespace", server_.name_space()}};
    const JsonObject hard{{"hard", JsonObject{{"pods", "0"}}}};
    JsonObject quota{{"apiVersion", "v1"}, {"kind", "ResourceQuota"}, {"metadata", metadata}, {"spec", hard}};
    client().create({}, at(kube::kResourceQuotas), Json(quota)).value();
    quota.erase("spec");
    quota["status"] = JsonObject{{"hard", hard.at("hard")}, {"used", hard.at("hard")}};
    client().apply_status({}, at(kube::kResourceQuotas), Json(quota)).value();
    const std::string pod = R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"},
                                "spec": {"containers": [{"name": "c", "image": "i"}]}})";
    await("the quota is in force", [&] {
      return !server_
                  .call({.method = "POST",
                         .target = kube::collection_path(at(kube::kPods)) + "?dryRun=All",
                         .headers = {{"Content-Type", "application/json"}},
                         .body = pod})
                  .is_success();
    });
  }
};

TEST_F(Quota, ThatIsUsedUpStandsInTheConditionAndHeals) {
  forbid_pods();
  const Process program = start_operator();
  create_job(job_yaml());
  await_condition("Scheduled", "exceeded quota");
  EXPECT_EQ(job_text({"status", "state"}), "Pending");
  EXPECT_TRUE(client().remove({}, at(kube::kResourceQuotas), "q", {}));
  await_pods({"train-0-a1", "train-1-a1"});
  await("the condition heals", [&] { return condition("Scheduled").find("quota") == std::string::npos; });
}

TEST_F(OperatorProgram, AForeignObjectUnderANameOfTheJobIsToldOfAndLeftAlone) {
  const Json foreign = JsonObject{{"apiVersion", "v1"},
                                  {"kind", "ConfigMap"},
                                  {"metadata", JsonObject{{"name", "train-plan"}}},
                                  {"data", JsonObject{{"mine", "yes"}}}};
  client().create({}, at(kConfigMaps), foreign).value();
  const Process program = start_operator();
  create_job(job_yaml());
  await_condition("Scheduled", "configmaps/train-plan is there already and does not belong to this job");
  EXPECT_EQ(kube::text_at(client().get({}, at(kConfigMaps), "train-plan").value(), {"data", "mine"}), "yes");
  EXPECT_THAT(pods(), IsEmpty());
  EXPECT_TRUE(client().remove({}, at(kConfigMaps), "train-plan", {}));
  await_pods({"train-0-a1", "train-1-a1"});
}

TEST_F(OperatorProgram, AJobThatDoesNotFitNamesTheSmallestChangeThatFitsAndHasNoPods) {
  const Process program = start_operator();
  std::string too_large = job_yaml();
  too_large.replace(too_large.find("llama-tiny"), std::string("llama-tiny").size(), "llama3-70b");
  create_job(too_large);
  await_condition("Planned", "False DoesNotFit: ");
  EXPECT_THAT(condition("Planned"),
              ::testing::ContainsRegex("With [0-9.]+ GiB of memory each they would do"));
  EXPECT_THAT(children(), IsEmpty());
}

// Nodes belong to the whole server, so this one's GPUs have a name of their own.
class GpuNode : public OperatorProgram {
 protected:
  ~GpuNode() override { client().remove({}, {.resource = kNodes}, name_, {}).has_value(); }

  std::string gpu() const { return "example.com/" + server_.name_space(); }
  void add() {
    const JsonObject metadata{{"name", name_}, {"labels", JsonObject{{labels::kNvidiaMemory, "81559"}}}};
    JsonObject node{{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", metadata}};
    client().create({}, {.resource = kNodes}, Json(node)).value();
    node["status"] = JsonObject{
        {"allocatable", JsonObject{{gpu(), "8"}}},
        {"conditions",
         JsonArray{JsonObject{{"type", "Ready"}, {"status", "True"}, {"reason", "KubeletReady"}}}}};
    const auto marked = client().apply_status({}, {.resource = kNodes}, Json(node));
    ASSERT_TRUE(marked) << marked.error().message;
  }

  const std::string name_ = server_.name_space();
};

TEST_F(GpuNode, ThatComesLetsAJobBePlannedThatFittedNowhere) {
  const Process program = start_operator();
  std::string yaml = job_yaml();
  const std::string cpu = "devicesPerNode: 2, device: {kind: CPU, memory: 4Gi}";
  create_job(yaml.replace(yaml.find(cpu), cpu.size(), "device: {resourceName: " + gpu() + "}"));
  await_condition("Planned", "False DoesNotFit: no node that is ready offers " + gpu());
  EXPECT_THAT(children(), IsEmpty());
  add();
  await_condition("Planned", "True HeuristicSelected");
  await_pods({"train-0-a1"});
}

TEST_F(OperatorProgram, AnImageThatCannotBePulledIsToldOfUntilItCan) {
  const Process program = start_operator();
  create_job(job_yaml(1));
  await_pods({"train-0-a1"});
  bind("train-0-a1");
  mark("train-0-a1", waiting("ErrImagePull", "failed to resolve reference worker:test: not found"));
  await_condition("Running", "pod train-0-a1: its image cannot be pulled (ErrImagePull: failed to resolve");
  EXPECT_THAT(condition("Running"), HasSubstr("worker.image"));
  mark("train-0-a1", waiting("ImagePullBackOff", "Back-off pulling image"));
  await_condition("Running", "ImagePullBackOff");
  mark("train-0-a1", {{"phase", "Running"}});
  await_condition("Running", "False Rendezvous: the agents meet");
}

TEST_F(OperatorProgram, AVolumeThatIsMissingIsToldOfUntilItIsThere) {
  const Process program = start_operator();
  create_job(job_yaml(1));
  await_pods({"train-0-a1"});
  mark("train-0-a1",
       unschedulable("0/1 nodes are available: persistentvolumeclaim \"corpus\" not found. not found"));
  await_condition("Scheduled", "persistentvolumeclaim \"corpus\" not found");
  EXPECT_THAT(condition("Scheduled"), HasSubstr("create that claim in the job's namespace"));
  bind("train-0-a1");
  mark("train-0-a1", waiting("ContainerCreating", ""));
  await_condition("Running", "its container is still being created 20 s after it got a machine");
  mark("train-0-a1", {{"phase", "Running"}});
  await_condition("Running", "False Rendezvous: the agents meet");
  EXPECT_THAT(condition("Scheduled"), ::testing::StartsWith("True AllPodsBound"));
}

TEST_F(OperatorProgram, MachinesThatAreTooSmallAreToldOfUntilOneIsNot) {
  const Process program = start_operator();
  create_job(job_yaml(1));
  await_pods({"train-0-a1"});
  mark("train-0-a1",
       unschedulable("0/1 nodes are available: 1 Insufficient memory. preemption: 0/1 nodes are "
                     "available: 1 No preemption victims found for incoming pod."));
  await_condition("Scheduled", "1 Insufficient memory");
  EXPECT_THAT(condition("Scheduled"), HasSubstr("ask for less (worker.resources"));
  run("train-0-a1");
  await_condition("Scheduled", "True AllPodsBound: all 1 pods have a machine");
}

TEST_F(OperatorProgram, ANamedServiceAccountIsUsedAndNoneIsMade) {
  const Process program = start_operator();
  create_job(job_yaml(1, "  worker: {serviceAccountName: trainer}"));
  await_pods({"train-0-a1"});
  EXPECT_EQ(
      kube::text_at(client().get({}, at(kube::kPods), "train-0-a1").value(), {"spec", "serviceAccountName"}),
      "trainer");
  EXPECT_THAT(all(kServiceAccounts), IsEmpty());
}

}  // namespace
}  // namespace caravan::controller::testing
