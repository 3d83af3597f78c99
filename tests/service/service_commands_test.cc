// The commands of a cluster with --server: the same as on the API server, through the job service's program
// and a real API server; the test plays the operator.
#include "tests/service/service_commands.h"

#include <atomic>
#include <thread>

#include "operator/api/cancellation.h"
#include "operator/api/names.h"
#include "tests/crd/job_states.h"
#include "tests/service/operated_service.h"

namespace caravan::service::testing {
namespace {

using kube::Json;
using kube::testing::await;
using kube::testing::ended;
using kube::testing::kTrains;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

const std::string kJob = kube::testing::job_yaml(1, "  checkpoint: {claimName: states, path: train}");

class ServiceCommandsTest : public ServiceCommands<OperatedService> {
 protected:
  ServiceCommandsTest() { start(); }

  void submit() {
    folder_.write("job.yaml", kJob);
    const Outcome submitted = on_service("submit job.yaml");
    ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  }
  void submit_with_status(const std::string& status) {
    submit();
    set_status(status);
    await_service();
  }
  Json shown(const std::string& words, bool by_service) {
    const Outcome outcome = by_service ? on_service(words) : on_api_server(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return kube::parse_json(outcome.out, "output").value_or(Json());
  }
};

TEST_F(ServiceCommandsTest, ShowJobsAsTheApiServerHasThem) {
  submit_with_status(kTrains);
  for (const char* words : {"list", "list -o wide", "list -o name", "get train", "get train -o wide",
                            "top --once", "list -l no=label -o name", "get nobody", "describe nobody"}) {
    const Outcome direct = on_api_server(words);
    const Outcome served = on_service(words);
    EXPECT_EQ(served.exit_code, direct.exit_code) << words << served.err;
    EXPECT_EQ(without_ages(served.out), without_ages(direct.out)) << words;
    EXPECT_EQ(served.err, direct.err) << words;
  }
  EXPECT_THAT(on_service("top --once").out, AllOf(HasSubstr("40/100"), HasSubstr("33Mi (34Mi)")));
  const Json direct = shown("get train -o json", false);
  const Json served = shown("get train -o json", true);
  for (const char* part : {"apiVersion", "kind", "spec", "status"})
    EXPECT_EQ(served.at(part), direct.at(part)) << part;
  for (const char* field : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"})
    EXPECT_EQ(kube::text_at(served, {"metadata", field}), kube::text_at(direct, {"metadata", field}))
        << field;
}

TEST_F(ServiceCommandsTest, SubmitGivesTheServiceAJobAndTellsMistakesByTheirFields) {
  submit();
  EXPECT_EQ(kube::text_at(job_object(), {"spec", "model", "preset"}), "llama-tiny");
  await_service();
  const Outcome again = on_service("submit job.yaml");
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("has a job train already"));
  const Outcome wrong = on_service("submit job.yaml --set spec.training.steps=0");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--set: spec.training.steps:"));
  EXPECT_THAT(on_service("submit job.yaml --set metadata.name=other --dry-run").out,
              HasSubstr("would be taken"));
  EXPECT_EQ(on_service("list -o name").out, "train\n") << "a dry run keeps nothing";
  std::string text = kJob;
  text.replace(text.find("{name: train}"), 13, "{generateName: train-}");
  folder_.write("job.yaml", text);
  EXPECT_THAT(on_service("submit job.yaml -o name").out, MatchesRegex("train-[a-z0-9]{5}\n"));
}

TEST_F(ServiceCommandsTest, SuspendResumeCancelAndDeleteWriteWhatTheOperatorReads) {
  submit();
  await_service();
  EXPECT_THAT(on_service("suspend train").out, HasSubstr("is being suspended"));
  EXPECT_TRUE(kube::flag_at(job_object(), {"spec", "suspend"}));
  await_service();
  EXPECT_THAT(on_service("suspend train").out, HasSubstr("is suspended already"));
  EXPECT_EQ(on_service("resume train").exit_code, 0);
  EXPECT_FALSE(kube::flag_at(job_object(), {"spec", "suspend"}));
  EXPECT_THAT(on_service("cancel train").out, HasSubstr("is being cancelled"));
  EXPECT_EQ(kube::text_at(job_object(), {"metadata", "annotations", controller::annotations::kCancel}),
            controller::kCancelled);
  set_status(ended("Failed", "Cancelled"));
  await_service();
  EXPECT_EQ(on_service("suspend train").exit_code, 2) << "it has ended";
  EXPECT_THAT(on_service("cancel train").out, HasSubstr("has ended already (Failed)"));
  EXPECT_EQ(on_service("delete train").out, "job train deleted; its checkpoints stay where they are\n");
  EXPECT_TRUE(job_object().is_null());
}

TEST_F(ServiceCommandsTest, DeleteTakesAJobThatChangesMeanwhile) {
  submit();
  await_service();
  std::atomic<bool> is_over = false;
  std::jthread operator_([&] {
    for (int step = 1; !is_over; ++step) {
      const auto status = kube::JsonObject{{"progress", kube::JsonObject{{"step", step}}}};
      static_cast<void>(server_.merge("/train/status", kube::JsonObject{{"status", status}}));
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
  });
  const Outcome deleted = on_service("delete train");
  is_over = true;
  EXPECT_EQ(deleted.exit_code, 0) << deleted.err;
  EXPECT_TRUE(job_object().is_null());
}

TEST_F(ServiceCommandsTest, WaitEndsWithTheExitCodeOfTheJob) {
  submit_with_status(kTrains);
  const Outcome late = on_service("wait train --timeout 1s");
  EXPECT_EQ(late.exit_code, 124);
  EXPECT_THAT(late.out, HasSubstr("step 40/100 (40 %)  loss 2.31  mem 33Mi (predicted 34Mi)"));
  EXPECT_EQ(
      late.err,
      fmt::format("job train is Running after 1 s; `caravan doctor train -n {}` says what it waits for\n",
                  server_.name_space()));
  EXPECT_EQ(on_service("wait train --for running -q").exit_code, 0);
  std::jthread operator_([this] { set_status(ended("Complete", "StepsReached")); });
  const Outcome done = on_service("wait train -q");
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.out, "job train is complete: StepsReached: so it is\n");
}

TEST_F(ServiceCommandsTest, SubmitAndWatchFollowsTheNewJobToItsEnd) {
  folder_.write("job.yaml", kJob);
  std::jthread operator_([this] {
    await([this] { return !job_object().is_null(); });
    set_status(ended("Failed", "DoesNotFit"));
  });
  const Outcome watched = on_service("submit job.yaml --watch");
  EXPECT_EQ(watched.exit_code, 3) << watched.err;
  EXPECT_THAT(watched.out, HasSubstr("Failed (DoesNotFit): so it is"));
  EXPECT_EQ(watched.err, "job train failed: DoesNotFit: so it is\n");
}

TEST_F(ServiceCommandsTest, WaitOfAJobThatIsDeletedSaysSo) {
  submit_with_status(kTrains);
  RunningCommand wait(folder_, command_on_service("wait train"));
  wait.await_told("step 40/100");
  on_api_server("delete train");
  EXPECT_EQ(wait.exit_code(), 1);
  EXPECT_EQ(wait.said(), "job train was deleted\n");
}

TEST_F(ServiceCommandsTest, WaitGoesOnWhereTheServiceWasAway) {
  submit_with_status(kTrains);
  RunningCommand wait(folder_, command_on_service("wait train"));
  wait.await_told("step 40/100");
  die();
  wait.await_said("\n");
  set_status(ended("Complete", "StepsReached"));
  start_again();
  EXPECT_EQ(wait.exit_code(), 0);
  EXPECT_THAT(wait.said(),
              AllOf(HasSubstr("is not reached"), HasSubstr("it is asked again until it answers")));
  EXPECT_THAT(wait.told(), HasSubstr("Complete (StepsReached): so it is"));
}

TEST_F(ServiceCommandsTest, WaitGoesOnWithTheTokenThatIsInItsFileWhenTheOneBeforeExpires) {
  submit_with_status(kTrains);
  RunningCommand wait(folder_, command_on_service("wait train"));
  wait.await_told("step 40/100");
  set_status(R"({"progress": {"step": 41}})");
  wait.await_told("step 41/100");  // by the watch, which the token before has opened
  renew_token("WatchJobs");
  set_status(ended("Complete", "StepsReached"));
  EXPECT_EQ(wait.exit_code(), 0) << wait.said();
  EXPECT_EQ(wait.said(), "");
}

TEST_F(ServiceCommandsTest, WaitGoesOnWhereTheCredentialPluginFailsForAWhile) {
  submit_with_status(kTrains);
  RunningCommand wait(folder_, command_by_plugin("wait train"));
  wait.await_told("step 40/100");
  set_status(R"({"progress": {"step": 41}})");
  wait.await_told("step 41/100");
  fail_plugin();
  renew_token("WatchJobs");
  set_status(ended("Complete", "StepsReached"));
  EXPECT_EQ(wait.exit_code(), 0) << wait.said();
  EXPECT_THAT(wait.said(), HasSubstr("credential plugin"));
}

TEST_F(ServiceCommandsTest, WaitLogsInAgainWhereATokenIsRefusedThatDoesNotSayWhenItExpires) {
  submit_with_status(kTrains);
  RunningCommand wait(folder_, command_by_plugin("wait train", /*expires=*/""));
  wait.await_told("step 40/100");
  renew_token("WatchJobs");
  set_status(ended("Complete", "StepsReached"));
  EXPECT_EQ(wait.exit_code(), 0) << wait.said();
  EXPECT_EQ(wait.said(), "");
}

TEST_F(ServiceCommandsTest, WaitEndsWhereWhatThePluginPrintsIsRefusedEachTime) {
  submit_with_status(kTrains);
  RunningCommand wait(folder_, command_by_plugin("wait train", /*expires=*/""));
  wait.await_told("step 40/100");
  folder_.write("login", R"sh(#!/bin/sh
cat <<end
{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1",
 "status": {"token": "nobody-$(date +%N)"}}
end
)sh");
  remove_account("ada");
  EXPECT_NE(wait.exit_code(), 0) << wait.said();
}

TEST_F(ServiceCommandsTest, WaitOfAJobThatIsDeletedWhileTheServiceIsAwaySaysSo) {
  submit_with_status(kTrains);
  RunningCommand wait(folder_, command_on_service("wait train"));
  wait.await_told("step 40/100");
  die();
  wait.await_said("\n");
  on_api_server("delete train");
  start_again();
  EXPECT_EQ(wait.exit_code(), 1);
  EXPECT_THAT(wait.said(), HasSubstr("job train was deleted\n"));
}

TEST_F(ServiceCommandsTest, ACheckpointIsAskedForByANewValueAndItsAnswerWaitedFor) {
  submit_with_status(kTrains);
  const auto request = [this] {
    return kube::text_at(job_object(), {"metadata", "annotations", controller::annotations::kCheckpoint});
  };
  EXPECT_THAT(on_service("checkpoint now train").out, HasSubstr("was asked for a checkpoint"));
  const std::string first = request();
  EXPECT_NE(first, "");
  std::jthread operator_([&] {
    await([&] { return request() != first; });
    set_status(fmt::format(
        R"({{"checkpointRequest": "{}", "lastCheckpoint": {{"step": 41, "path": "/checkpoints/41"}}}})",
        request()));
  });
  const Outcome outcome = on_service("checkpoint now train --wait");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "job train: checkpoint of step 41 in /checkpoints/41\n");
}

}  // namespace
}  // namespace caravan::service::testing
