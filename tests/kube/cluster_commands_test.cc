// The commands that work on a cluster, as programs, against a real API server; the test plays the operator
// and writes the status of jobs. There is no kubelet, so that no pod has a log.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "common/testing/checkout.h"
#include "common/testing/shell.h"
#include "operator/api/names.h"
#include "operator/api/pod_names.h"
#include "tests/crd/job_server.h"
#include "tests/crd/job_states.h"

namespace caravan::kube::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

const std::string kJob = job_yaml(1, "  checkpoint: {claimName: states, path: tiny}", "tiny");

class ClusterCommands : public ::testing::Test {
 protected:
  // In the test's namespace.
  test::Outcome caravan(const std::string& words, const std::string& environment = "") const {
    return test::run_shell(fmt::format("cd '{}' && {} '{}/caravan' {} -n {}", folder_.path(""), environment,
                                       test::program_folder(), words, server_.name_space()));
  }

  test::Outcome submit() const {
    folder_.write("job.yaml", kJob);
    return caravan("submit job.yaml");
  }

  void submit_with_status(const std::string& status) {
    const test::Outcome outcome = submit();
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    set_status(status);
  }

  void set_status(const std::string& status) {
    const Answer answer =
        server_.merge("/tiny/status", JsonObject{{"status", parse_json(status, "status").value()}});
    EXPECT_TRUE(answer.is_success()) << answer.message();
  }

  // On a machine that is not there, so that its log cannot be read.
  void create_pod(int node) {
    const std::string name = controller::pod_name("tiny", node, 1);
    const JsonObject labels{{controller::labels::kJobUid, uid_of(job())},
                            {controller::labels::kNodeIndex, std::to_string(node)}};
    const auto created = server_.client().create(
        {}, {.resource = kPods, .name_space = server_.name_space()},
        JsonObject{
            {"apiVersion", "v1"},
            {"kind", "Pod"},
            {"metadata", JsonObject{{"name", name}, {"labels", labels}}},
            {"spec", JsonObject{{"nodeName", fmt::format("machine-{}", node)},
                                {"containers", JsonArray{JsonObject{{"name", "worker"}, {"image", "i"}}}}}}});
    EXPECT_TRUE(created) << created.error().message;
  }

  Json job() { return server_.client().get({}, server_.jobs(), "tiny").value_or(Json()); }

  JobServer server_;
  const test::TemporaryFolder folder_;
};

TEST_F(ClusterCommands, SubmitListGetAndDelete) {
  const test::Outcome submitted = submit();
  EXPECT_EQ(submitted.exit_code, 0) << submitted.err;
  EXPECT_THAT(submitted.out, HasSubstr("job tiny submitted in namespace " + server_.name_space()));
  EXPECT_THAT(caravan("submit job.yaml").err, HasSubstr("has a job tiny already")) << "a second time";

  EXPECT_EQ(caravan("list -o name").out, "tiny\n");
  EXPECT_THAT(caravan("list").out, AllOf(HasSubstr("NAME"), HasSubstr("tiny"), HasSubstr("Unseen")));
  EXPECT_THAT(caravan("get tiny -o yaml").out,
              AllOf(HasSubstr("  preset: llama-tiny\n"), Not(HasSubstr("managedFields"))));
  const auto object = parse_json(caravan("get tiny -o json").out, "output");
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(uid_of(*object), uid_of(job()));

  EXPECT_EQ(caravan("delete tiny").exit_code, 0);
  const test::Outcome gone = caravan("get tiny");
  EXPECT_EQ(gone.exit_code, 2);
  EXPECT_THAT(gone.err, HasSubstr("has no job tiny; `caravan list -n"));
  EXPECT_THAT(caravan("list").err, HasSubstr("has no job"));
}

TEST_F(ClusterCommands, SubmitTellsMistakesBeforeTheServerIsAskedAndKeepsNothingInADryRun) {
  folder_.write("job.yaml", kJob);
  const test::Outcome wrong = caravan("submit job.yaml --set spec.training.steps=0", "KUBECONFIG=/nowhere");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--set: spec.training.steps:"));
  EXPECT_THAT(caravan("submit job.yaml --dry-run").out, HasSubstr("would be taken"));
  const test::Outcome listed = caravan("list -o name");
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_EQ(listed.out, "");
  EXPECT_EQ(caravan("submit job.yaml -o name").out, "tiny\n");
}

// As `caravan init` writes one for this machine.
TEST_F(ClusterCommands, SubmitAsksForTheClaimsThatAClusterNeeds) {
  folder_.write("job.yaml", kJob);
  const test::Outcome refused = caravan("submit job.yaml --set spec.checkpoint.claimName=null");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("job.yaml: spec.checkpoint.claimName: must be set on a cluster"));
  const test::Outcome warned = caravan("submit job.yaml --dry-run --set spec.data.claimName=null");
  EXPECT_EQ(warned.exit_code, 0) << warned.err;
  EXPECT_THAT(warned.err, HasSubstr("spec.data.claimName is not set"));
}

TEST_F(ClusterCommands, ANameThatTheServerIsToChooseIsTheServers) {
  std::string text = kJob;
  text.replace(text.find("{name: tiny}"), 12, "{generateName: tiny-}");
  folder_.write("job.yaml", text);
  EXPECT_THAT(caravan("submit job.yaml -o name").out, MatchesRegex("tiny-[a-z0-9]{5}\n"));
}

TEST_F(ClusterCommands, SuspendResumeAndCancelWriteWhatTheOperatorReads) {
  ASSERT_EQ(submit().exit_code, 0);
  EXPECT_THAT(caravan("suspend tiny").out, HasSubstr("is being suspended"));
  EXPECT_TRUE(flag_at(job(), {"spec", "suspend"}));
  EXPECT_THAT(caravan("suspend tiny").out, HasSubstr("is suspended already"));
  EXPECT_EQ(caravan("resume tiny").exit_code, 0);
  EXPECT_FALSE(flag_at(job(), {"spec", "suspend"}));
  EXPECT_THAT(caravan("cancel tiny").out, HasSubstr("is being cancelled"));
  EXPECT_EQ(text_at(job(), {"metadata", "annotations", controller::annotations::kCancel}), "true");
  set_status(ended("Failed", "Cancelled"));
  EXPECT_EQ(caravan("suspend tiny").exit_code, 2) << "it has ended";
  EXPECT_THAT(caravan("cancel tiny").out, HasSubstr("has ended already (Failed)"));
}

TEST_F(ClusterCommands, OfSeveralJobsTellAMistakeWithOneAndGoOnWithTheOthers) {
  ASSERT_EQ(submit().exit_code, 0);
  for (const char* words : {"suspend", "resume", "get -o name", "cancel", "delete"}) {
    const test::Outcome outcome = caravan(fmt::format("{} nobody tiny", words));
    EXPECT_EQ(outcome.exit_code, 2) << words;
    EXPECT_THAT(outcome.err, HasSubstr("has no job nobody")) << words;
    EXPECT_THAT(outcome.out, HasSubstr("tiny")) << words;
  }
  EXPECT_TRUE(job().is_null()) << "it was deleted";
}

TEST_F(ClusterCommands, WaitEndsWhereNobodyCanReadItAnyMore) {
  submit_with_status(kTrains);
  const test::Outcome outcome = caravan("wait tiny --timeout 1m >/dev/full");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err, "standard output: not everything could be written; give it room and an open end\n");
}

TEST_F(ClusterCommands, SubmitAndWatchKeepTheNewsOutOfADocument) {
  folder_.write("job.yaml", kJob);
  std::jthread operator_([this] {
    await([this] { return !job().is_null(); });
    set_status(ended("Complete", "StepsReached"));
  });
  const test::Outcome watched = caravan("submit job.yaml --watch -o json");
  EXPECT_EQ(watched.exit_code, 0) << watched.err;
  EXPECT_TRUE(parse_json(watched.out, "output")) << watched.out;
  EXPECT_THAT(watched.err, HasSubstr("Complete (StepsReached): so it is"));
}

TEST_F(ClusterCommands, WaitEndsWithTheExitCodeOfTheJob) {
  submit_with_status(kTrains);
  const test::Outcome late = caravan("wait tiny --timeout 1s");
  EXPECT_EQ(late.exit_code, 124);
  EXPECT_THAT(late.out, HasSubstr("step 40/100 (40 %)  loss 2.31  mem 33Mi (predicted 34Mi)"));
  EXPECT_THAT(late.err, HasSubstr("job tiny is Running after 1 s"));
  EXPECT_EQ(caravan("wait tiny --for running -q").exit_code, 0);
  std::jthread operator_([this] { set_status(ended("Complete", "StepsReached")); });
  const test::Outcome done = caravan("wait tiny -q");
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.out, "job tiny is complete: StepsReached: so it is\n");
  operator_.join();
}

TEST_F(ClusterCommands, WaitTellsAFailureFromAJobThatDoesNotFit) {
  submit_with_status(ended("Failed", "MaxRestartsReached"));
  EXPECT_EQ(caravan("wait tiny").exit_code, 1);
  set_status(ended("Failed", "DoesNotFit"));
  const test::Outcome outcome = caravan("wait tiny -q");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.err, "job tiny failed: DoesNotFit: so it is\n");
}

TEST_F(ClusterCommands, WaitOfAJobThatIsDeletedSaysSo) {
  submit_with_status(kTrains);
  std::atomic<bool> is_over = false;
  std::jthread user([&] {  // once the command has told of the job, so that it has seen it
    await([&] { return is_over || !test::contents(folder_.path("told")).empty(); });
    caravan("delete tiny");
  });
  const test::Outcome outcome = caravan("wait tiny >told");
  is_over = true;
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err, "job tiny was deleted\n");
}

TEST_F(ClusterCommands, DescribeTopAndDoctorTellTheSameStory) {
  submit_with_status(kTrains);
  const test::Outcome described = caravan("describe tiny");
  EXPECT_EQ(described.exit_code, 0) << described.err;
  EXPECT_THAT(described.out, AllOf(HasSubstr(": Running\n"), HasSubstr("HeuristicSelected"),
                                   HasSubstr("34Mi"), HasSubstr("33Mi")));
  EXPECT_THAT(caravan("top").out, AllOf(HasSubstr("40/100"), HasSubstr("33Mi (34Mi)")));
  const test::Outcome healthy = caravan("doctor tiny");
  EXPECT_EQ(healthy.exit_code, 0) << healthy.err;
  EXPECT_THAT(healthy.out, HasSubstr("it trains: step 40/100"));
  set_status(ended("Failed", "OutOfMemory"));
  const test::Outcome ill = caravan("doctor tiny -o json");
  EXPECT_EQ(ill.exit_code, 1);
  EXPECT_THAT(ill.out, HasSubstr(R"("what":"it failed: OutOfMemory: so it is")"));
  EXPECT_THAT(caravan("top").out, HasSubstr("no job is under way"));
}

TEST_F(ClusterCommands, EventsOfTheJobAreShownWithTheirReasons) {
  ASSERT_EQ(submit().exit_code, 0);
  const auto created = server_.client().create({}, {.resource = kEvents, .name_space = server_.name_space()},
                                               event_about(server_.name_space(), "tiny", uid_of(job())));
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_THAT(caravan("events tiny").out,
              AllOf(HasSubstr("Warning"), HasSubstr("DoesNotFit"), HasSubstr("needs 4 more devices")));
}

TEST_F(ClusterCommands, ACheckpointIsAskedForByANewValueAndItsAnswerWaitedFor) {
  submit_with_status(kTrains);
  const auto request = [this] {
    return text_at(job(), {"metadata", "annotations", controller::annotations::kCheckpoint});
  };
  EXPECT_THAT(caravan("checkpoint now tiny").out, HasSubstr("was asked for a checkpoint"));
  const std::string first = request();
  EXPECT_NE(first, "");
  std::jthread operator_([&] {
    await([&] { return request() != first; });
    set_status(fmt::format(
        R"({{"checkpointRequest": "{}", "lastCheckpoint": {{"step": 41, "path": "/checkpoints/41"}}}})",
        request()));
  });
  const test::Outcome outcome = caravan("checkpoint now tiny --wait");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "job tiny: checkpoint of step 41 in /checkpoints/41\n");
}

TEST_F(ClusterCommands, LogsAndPlotSayThatThereIsNoPodYet) {
  ASSERT_EQ(submit().exit_code, 0);
  for (const char* words : {"logs tiny", "plot loss tiny"}) {
    const test::Outcome outcome = caravan(words);
    EXPECT_EQ(outcome.exit_code, 1) << words;
    EXPECT_THAT(outcome.err, HasSubstr("job tiny has no pod of node 0 now")) << words;
  }
  for (const int node : {0, 1}) create_pod(node);
  const test::Outcome none = caravan("logs tiny --all");
  EXPECT_EQ(none.exit_code, 2) << "as of what is not there: " << none.err;
  EXPECT_THAT(none.err, AllOf(HasSubstr("machine-0"), HasSubstr("machine-1"))) << "each says why";
  EXPECT_THAT(caravan("logs tiny --rank 2").err, HasSubstr("the ranks 0 to 1"));
}

TEST_F(ClusterCommands, EstimatePlansForTheNodesThatThereAre) {
  folder_.write("job.yaml", kJob);
  const test::Outcome outcome = caravan("estimate job.yaml");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("on 2 devices"));
  std::string of_gpus = kJob;
  of_gpus.replace(of_gpus.find("{kind: CPU, memory: 4Gi}"), 24, "{resourceName: example.com/gpu}");
  folder_.write("gpus.yaml", of_gpus);
  const test::Outcome none = caravan("estimate gpus.yaml");
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, HasSubstr("no node that is ready offers 2 example.com/gpu"));
}

TEST_F(ClusterCommands, EstimateComparesNumbersOfDevices) {
  std::string job = kJob;
  job.replace(job.find(", devicesPerNode: 2"), 19, "");
  folder_.write("job.yaml", job);
  const test::Outcome table = caravan("estimate --devices 1,2 --price 2.5 job.yaml");
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(HasSubstr("DEVICES"), HasSubstr("TP1 PP1 DP1"), HasSubstr("TP1 PP1 DP2")));
  const test::Outcome piped = caravan("estimate - --devices 2 --devices 1 -o json <job.yaml");
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  const auto response = kube::parse_json(piped.out, "response").value();
  const auto& estimates = response.as_object().at("estimates").as_array();
  ASSERT_EQ(estimates.size(), 2U);
  EXPECT_EQ(estimates[0].as_object().at("devices").to_number<int>(), 2);
  EXPECT_TRUE(estimates[1].as_object().at("fits").as_bool());
  EXPECT_THAT(caravan("estimate job.yaml --price 2.5").out, HasSubstr("TP1 PP1 DP2"));
}

TEST_F(ClusterCommands, EstimateSaysWhyANumberOfDevicesDoesNotServe) {
  folder_.write("job.yaml", kJob);  // two devices a node
  const test::Outcome some = caravan("estimate job.yaml --devices 2,3");
  EXPECT_EQ(some.exit_code, 0) << some.err;
  EXPECT_THAT(some.out, AllOf(HasSubstr("3 devices: "), HasSubstr("multiple of devicesPerNode")));
  const test::Outcome none = caravan("estimate job.yaml --devices 3");
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, HasSubstr("fits on none of these numbers of devices"));
  const test::Outcome many = caravan("estimate job.yaml --devices 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17");
  EXPECT_EQ(many.exit_code, 2);
  EXPECT_THAT(many.err, HasSubstr("--devices: at most 16"));
  const test::Outcome free = caravan("estimate job.yaml --price cheap");
  EXPECT_EQ(free.exit_code, 2);
  EXPECT_THAT(free.err, HasSubstr("--price: expected a decimal number from 0"));
}

TEST_F(ClusterCommands, ServiceRootPrintsTheAuthorityOrSaysWhereElseToLook) {
  const test::Outcome none = caravan("service root");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, AllOf(HasSubstr("namespace " + server_.name_space() + " has no ConfigMap"),
                              HasSubstr("service.enabled=true")));

  const ResourcePath maps{.resource = controller::kConfigMaps, .name_space = server_.name_space()};
  const auto map_of = [](const std::string& root) {
    return JsonObject{{"apiVersion", "v1"},
                      {"kind", "ConfigMap"},
                      {"metadata", JsonObject{{"name", controller::kServiceRoot}}},
                      {"data", JsonObject{{controller::kServiceRootKey, root}}}};
  };
  ASSERT_TRUE(server_.client().create({}, maps, map_of("")));
  const test::Outcome empty = caravan("service root");
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_EQ(empty.out, "");
  EXPECT_THAT(empty.err, HasSubstr("has no certificate as its ca.crt"));

  const std::string root = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  ASSERT_TRUE(server_.client().merge({}, maps, controller::kServiceRoot, map_of(root)));
  const test::Outcome told = caravan("service root");
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_EQ(told.out, root) << "nothing else, for a file";

  const test::Outcome stranger = caravan("service root --context user");
  EXPECT_EQ(stranger.exit_code, 1);
  EXPECT_EQ(stranger.out, "");
  EXPECT_THAT(stranger.err, HasSubstr("the right to get configmaps"));
}

TEST_F(ClusterCommands, TellInOneLineWhatIsWrongWithTheWayToTheCluster) {
  const test::Outcome nowhere = caravan("list", "KUBECONFIG=/nowhere HOME=/nowhere");
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_THAT(nowhere.err, AllOf(HasSubstr("no cluster to talk to"), HasSubstr("--kubeconfig")));
  const test::Outcome context = caravan("list --context mars");
  EXPECT_EQ(context.exit_code, 2);
  EXPECT_THAT(context.err, HasSubstr("mars"));
  const test::Outcome stranger = caravan("list --context user");
  EXPECT_EQ(stranger.exit_code, 1);
  EXPECT_THAT(stranger.err,
              AllOf(HasSubstr("cannot list resource"), HasSubstr("the right to list llamatrainingjobs")));
}

TEST_F(ClusterCommands, CompletionKnowsTheNamesOfJobs) {
  ASSERT_EQ(submit().exit_code, 0);
  EXPECT_EQ(caravan("__jobs get").out, "tiny\n");
  EXPECT_EQ(caravan("__jobs get", "KUBECONFIG=/nowhere HOME=/nowhere").out, "");
  const std::string script = folder_.write(
      "asked",
      fmt::format(
          "set -u\nPATH='{0}':$PATH\nsource <(caravan completion bash)\nCOMP_WORDS=(caravan get -n {1} t)\n"
          "COMP_CWORD=4\n_caravan\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
          test::program_folder(), server_.name_space()));
  const test::Outcome bash = test::run_shell(fmt::format("bash --norc '{}'", script));
  EXPECT_EQ(bash.out, "tiny\n") << bash.err;
}

// By the kubectl of the test cluster, which is built when it is not there.
TEST_F(ClusterCommands, KubectlFindsItsPluginAndCompletesIt) {
  ASSERT_EQ(submit().exit_code, 0);
  const auto kubectl = [](const std::string& words) {
    return test::run_shell(
        fmt::format("bin=$('{}/tests/cluster/build.sh' kubectl) && PATH='{}':$bin:$PATH kubectl {}",
                    test::source_folder(), test::program_folder(), words));
  };
  EXPECT_EQ(kubectl(fmt::format("caravan list -n {} -o name", server_.name_space())).out, "tiny\n");
  EXPECT_THAT(kubectl("caravan nonsense").err, HasSubstr("kubectl caravan has no command"));
  EXPECT_THAT(kubectl("__complete caravan des").out, HasSubstr("describe\t"));
  EXPECT_THAT(kubectl(fmt::format("__complete caravan get -n {} t", server_.name_space())).out,
              HasSubstr("tiny\n"));
}

}  // namespace
}  // namespace caravan::kube::testing
