// The operator's program against a real API server. There is no kubelet: the test plays its part and marks
// pods as running and failed. Nothing collects garbage here either.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "common/process.h"
#include "kube/client/client.h"
#include "kube/config/config_credentials.h"
#include "kube/config/kubeconfig.h"
#include "kube/election/elector.h"
#include "kube/transport/pooled_transport.h"
#include "operator/api/names.h"

namespace caravan::controller {
namespace {

using namespace std::chrono_literals;
using kube::Json;
using kube::JsonArray;
using kube::JsonObject;
using ::testing::HasSubstr;

const kube::Resource kDefinitions{
    .group = "apiextensions.k8s.io", .version = "v1", .plural = "customresourcedefinitions"};
const kube::Resource kNamespaces{.group = "", .version = "v1", .plural = "namespaces"};
const kube::Resource kQuotas{.group = "", .version = "v1", .plural = "resourcequotas"};

// What is waited for should come at once; a busy machine gets this long before the test fails.
constexpr auto kPatience = 60s;

Json definition() {
  return kube::parse_json(R"({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "llamatrainingjobs.training.caravan.dev"},
    "spec": {"group": "training.caravan.dev", "scope": "Namespaced",
      "names": {"plural": "llamatrainingjobs", "singular": "llamatrainingjob", "kind": "LlamaTrainingJob"},
      "versions": [{"name": "v1alpha1", "served": true, "storage": true, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})",
                          "definition")
      .value();
}

Json job_object(const std::string& preset = "llama-tiny") {
  return kube::parse_json(
             fmt::format(R"({{"apiVersion": "training.caravan.dev/v1alpha1", "kind": "LlamaTrainingJob",
               "metadata": {{"name": "train"}},
               "spec": {{"model": {{"preset": "{}"}}, "data": {{"claimName": "corpus", "path": "train.bin"}},
                 "training": {{"steps": 100, "sequenceLength": 64, "globalBatchSequences": 8}},
                 "resources": {{"devices": 4, "devicesPerNode": 2, "device": {{"kind": "CPU", "memory": "4Gi"}}}}}}}})",
                         preset),
             "job")
      .value();
}

kube::ClientConfig config_of_the_test_server() {
  return kube::load_kubeconfig(kube::kubeconfig_files(), "", kube::read_json_document).value();
}

class OperatorProgram : public ::testing::Test {
 protected:
  OperatorProgram() {
    const std::string identity = kube::process_identity();
    name_space_ = fmt::format("op-{}", identity.substr(identity.size() - 12));
    client_.create({}, {.resource = kDefinitions}, definition()).has_value();
    client_
        .create(
            {}, {.resource = kNamespaces},
            JsonObject{
                {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", JsonObject{{"name", name_space_}}}})
        .value();
  }

  Process start_operator() {
    return Process::spawn({.program = std::string(CARAVAN_BIN_DIR) + "/caravan-operator",
                           .arguments = {"--kubeconfig",
                                         std::getenv("KUBECONFIG"),
                                         "--namespace",
                                         name_space_,
                                         "--lease-namespace",
                                         name_space_,
                                         "--worker-image",
                                         "worker:test",
                                         "--reports-address",
                                         "127.0.0.1:9443",
                                         "--reports-listen",
                                         "127.0.0.1:0",
                                         "--http",
                                         "127.0.0.1:0",
                                         "--lease-seconds",
                                         "4",
                                         "--renew-seconds",
                                         "3",
                                         "--retry-seconds",
                                         "1"}})
        .value();
  }

  kube::ResourcePath at(const kube::Resource& resource) const {
    return {.resource = resource, .name_space = name_space_};
  }
  // The definition may be a moment away from being served.
  void create_job(const Json& job) {
    await("the job is created", [&] { return client_.create({}, at(kJobs), job).has_value(); });
  }
  std::vector<std::string> pods() {
    std::vector<std::string> names;
    const auto page = client_.list({}, at(kube::kPods), {});
    for (const Json& pod : page.value().items) names.push_back(kube::key_of(pod).name);
    return names;
  }
  std::string job_text(kube::JsonPath path) {
    const auto job = client_.get({}, at(kJobs), "train");
    return job ? kube::text_at(*job, path) : "";
  }
  std::string condition_message(const std::string& type) {
    const auto job = client_.get({}, at(kJobs), "train");
    const Json* all = job ? kube::find(*job, {"status", "conditions"}) : nullptr;
    if (all == nullptr) return "";
    for (const Json& condition : all->get_array()) {
      if (kube::text_at(condition, {"type"}) == type)
        return kube::text_at(condition, {"status"}) + ": " + kube::text_at(condition, {"message"});
    }
    return "";
  }
  void mark(const std::string& pod, JsonObject status) {
    const Json intent = JsonObject{{"apiVersion", "v1"},
                                   {"kind", "Pod"},
                                   {"metadata", JsonObject{{"name", pod}, {"namespace", name_space_}}},
                                   {"status", std::move(status)}};
    const auto marked = client_.apply_status({}, at(kube::kPods), intent);
    ASSERT_TRUE(marked) << marked.error().message;
  }
  void end(const std::string& pod, const char* phase, int exit_code) {
    const JsonObject state{{"terminated", JsonObject{{"exitCode", exit_code}}}};
    mark(pod, {{"phase", phase},
               {"containerStatuses", JsonArray{JsonObject{{"name", "worker"},
                                                          {"image", "worker:test"},
                                                          {"imageID", ""},
                                                          {"ready", false},
                                                          {"restartCount", 0},
                                                          {"state", state}}}}});
  }
  template <typename Condition>
  void await(const std::string& what, Condition holds) {
    const auto end = clock_.now() + kPatience;
    while (!holds()) {
      ASSERT_LT(clock_.now(), end) << "waited in vain: " << what << "; state "
                                   << job_text({"status", "state"}) << ", pods "
                                   << ::testing::PrintToString(pods());
      std::this_thread::yield();
    }
  }
  void await_pods(const std::vector<std::string>& wanted) {
    await(::testing::PrintToString(wanted), [&] { return pods() == wanted; });
  }
  void await_state(const std::string& wanted) {
    await("state " + wanted, [&] { return job_text({"status", "state"}) == wanted; });
  }

  SystemClock clock_;
  kube::Observer observer_;
  kube::ClientConfig config_ = config_of_the_test_server();
  kube::ConfigCredentials credentials_{config_, clock_};
  kube::PooledTransport transport_{{.server = config_.server}, credentials_, clock_};
  kube::Client client_{transport_, credentials_, clock_, kube::system_random(), {}, observer_};
  std::string name_space_;
};

TEST_F(OperatorProgram, AJobBecomesPodsLosesOneAndCompletes) {
  const Process program = start_operator();
  create_job(job_object());
  await_pods({"train-0-a1", "train-1-a1"});
  EXPECT_EQ(job_text({"status", "layout"}), "TP1 PP1 DP4");
  for (const char* pod : {"train-0-a1", "train-1-a1"}) mark(pod, {{"phase", "Running"}});
  end("train-1-a1", "Failed", 137);
  await_pods({"train-0-a1", "train-1-a2"});
  end("train-0-a1", "Succeeded", 0);
  await_state("Complete");
}

TEST_F(OperatorProgram, AnotherOneGoesOnWhereAKilledOneWas) {
  Process first = start_operator();
  create_job(job_object());
  await_pods({"train-0-a1", "train-1-a1"});
  first.signal_group(SIGKILL);
  first.wait();
  end("train-0-a1", "Failed", 137);
  const Process second = start_operator();
  await_pods({"train-0-a2", "train-1-a1"});
}

TEST_F(OperatorProgram, ATermSignalEndsItInOrderAndGivesTheLeaseBack) {
  Process program = start_operator();
  const auto holder = [&] {
    const auto lease = client_.get({}, at(kube::kLeases), "caravan-operator");
    return lease ? kube::text_at(*lease, {"spec", "holderIdentity"}) : "";
  };
  await("a leader", [&] { return !holder().empty(); });
  program.signal_group(SIGTERM);
  EXPECT_EQ(program.wait(), (ExitStatus{.exit_code = 0}));
  EXPECT_EQ(holder(), "");
}

TEST_F(OperatorProgram, AQuotaThatIsUsedUpStandsInTheConditionAndHeals) {
  const Json quota = JsonObject{{"apiVersion", "v1"},
                                {"kind", "ResourceQuota"},
                                {"metadata", JsonObject{{"name", "q"}}},
                                {"spec", JsonObject{{"hard", JsonObject{{"pods", "0"}}}}},
                                {"status", JsonObject{{"hard", JsonObject{{"pods", "0"}}}}}};
  client_.create({}, at(kQuotas), quota).value();
  const Process program = start_operator();
  create_job(job_object());
  await("the quota in the condition", [&] {
    return condition_message("Scheduled").find("pods") != std::string::npos &&
           job_text({"status", "state"}) == "Pending";
  });
  EXPECT_TRUE(client_.remove({}, at(kQuotas), "q", {}));
  await_pods({"train-0-a1", "train-1-a1"});
}

TEST_F(OperatorProgram, AForeignObjectUnderANameOfTheJobIsToldOfAndLeftAlone) {
  const Json foreign = JsonObject{{"apiVersion", "v1"},
                                  {"kind", "ConfigMap"},
                                  {"metadata", JsonObject{{"name", "train-plan"}}},
                                  {"data", JsonObject{{"mine", "yes"}}}};
  client_.create({}, at(kConfigMaps), foreign).value();
  const Process program = start_operator();
  create_job(job_object());
  await("the name in the condition", [&] {
    return condition_message("Scheduled").find("does not belong to this job") != std::string::npos;
  });
  EXPECT_EQ(kube::text_at(client_.get({}, at(kConfigMaps), "train-plan").value(), {"data", "mine"}), "yes");
  EXPECT_THAT(pods(), ::testing::IsEmpty());
  EXPECT_TRUE(client_.remove({}, at(kConfigMaps), "train-plan", {}));
  await_pods({"train-0-a1", "train-1-a1"});
}

TEST_F(OperatorProgram, AJobThatDoesNotFitSaysSoAndHasNoPods) {
  const Process program = start_operator();
  create_job(job_object("llama3-70b"));
  await("the verdict", [&] { return condition_message("Planned").rfind("False: ", 0) == 0; });
  EXPECT_THAT(pods(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace caravan::controller
