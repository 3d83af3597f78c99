// Pods as the scheduler and the kubelet of Kubernetes 1.34 write them.
#include "operator/view/pod_view.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "operator/testing/jobs.h"

namespace caravan::controller::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

PodView pod(const std::string& status, const std::string& node = R"("nodeName": "machine")") {
  return read_pod(kube::parse_json(fmt::format(R"({{"metadata": {{"name": "train-1-a2", "uid": "u",
      "creationTimestamp": "2030-01-01T00:00:00Z",
      "labels": {{"training.caravan.dev/node-index": "1", "training.caravan.dev/attempt": "2"}}}},
      "spec": {{{}}}, "status": {}}})",
                                               node, status),
                                   "pod")
                      .value());
}

std::string waiting(const std::string& reason, const std::string& message) {
  return fmt::format(R"({{"phase": "Pending", "containerStatuses": [{{"name": "worker", "state": {{"waiting":
      {{"reason": "{}", "message": "{}"}}}}}}]}})",
                     reason, message);
}

std::string unschedulable(const std::string& message) {
  return fmt::format(R"({{"phase": "Pending", "conditions": [{{"type": "PodScheduled", "status": "False",
      "reason": "Unschedulable", "message": "{}"}}]}})",
                     message);
}

TEST(PodView, OfManyPodsOnlyTheFirstMayTalkForLong) {
  const std::string long_words(4096, 'w');
  const std::string status = fmt::format(
      R"({{"phase": "Failed", "containerStatuses": [{{"name": "worker", "state": {{"terminated": {{"exitCode": 1, "message": "{}"}}}}}}]}})",
      long_words);
  EXPECT_EQ(pod(status).last_words.size(), 1024U);
  kube::Json first =
      kube::parse_json(fmt::format(R"({{"metadata": {{"labels": {{"{}": "0"}}}}, "status": {}}})",
                                   labels::kNodeIndex, status),
                       "pod")
          .value();
  EXPECT_EQ(read_pod(first).last_words, long_words) << "it tells of the job's result";
}

TEST(PodView, SaysWhyAPodDoesNotStartAndWhatToDo) {
  struct Case {
    std::string status;
    const char* cause;
    const char* advice;
  };
  const Case cases[] = {
      {waiting("ErrImagePull", "not found"), "image cannot be pulled (ErrImagePull: not found)",
       "worker.image"},
      {waiting("ImagePullBackOff", "Back-off"), "image cannot be pulled (ImagePullBackOff", "worker.image"},
      {waiting("InvalidImageName", ""), "(InvalidImageName)", "worker.image"},
      {waiting("CreateContainerConfigError", "secret not found"), "cannot be started", "secret not found"},
      {unschedulable("0/1 nodes are available: persistentvolumeclaim \\\"corpus\\\" not found. not found"),
       "persistentvolumeclaim \"corpus\" not found", "model.initFrom.claimName"},
      {unschedulable("0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind."),
       "available persistent volumes", "give the claim a volume"},
      {unschedulable("0/1 nodes are available: 1 Insufficient cpu. preemption: none."), "1 Insufficient cpu",
       "ask for less (worker.resources"},
      {unschedulable("0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."),
       "node affinity/selector", "worker.nodeSelector"},
      {unschedulable("0/1 nodes are available: 1 node(s) had untolerated taint {a: b}."), "untolerated taint",
       "worker.tolerations"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(pod(c.status).trouble, AllOf(HasSubstr(c.cause), HasSubstr(c.advice)));
  }
}

TEST(PodView, ItsTroubleIsOneLineThatATerminalMayBeGiven) {
  EXPECT_EQ(pod(waiting("Strange", "one\\n\\u001b[2Jtwo")).trouble,
            "its container cannot be started (Strange: one [2Jtwo)");
  std::string euros;
  for (int i = 0; i < 1000; ++i) euros += "\xE2\x82\xAC";
  const std::string long_one = pod(waiting("Strange", euros)).trouble;
  EXPECT_LE(long_one.size(), 1024U);
  EXPECT_THAT(long_one, ::testing::EndsWith("\xE2\x82\xAC...")) << "cut between characters";
}

TEST(PodView, OneThatSomebodyKeepsFromTheSchedulerSaysWhoAndWhatToDo) {
  const std::string gated = R"({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
      "reason": "SchedulingGated", "message": "Scheduling is blocked due to non-empty scheduling gates"}]})";
  const PodView by_kueue = pod(gated, R"("schedulingGates": [{"name": "kueue.x-k8s.io/admission"}])");
  EXPECT_TRUE(by_kueue.gated);
  EXPECT_THAT(by_kueue.trouble, AllOf(HasSubstr("Kueue's own integration of pods holds it back"),
                                      HasSubstr("LlamaTrainingJob.v1alpha1.training.caravan.dev")));
  EXPECT_EQ(pod(gated, R"("schedulingGates": [{"name": "a.example/b"}, {"name": "c"}])").trouble,
            "scheduling gates hold it back (a.example/b, c); whoever has set them removes them");
  EXPECT_FALSE(pod(gated).gated);
}

TEST(PodView, OneThatIsBeingPreparedHasNoTroubleYet) {
  const PodView view = pod(R"({"phase": "Pending",
      "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": "2030-01-01T00:00:05Z"}],
      "containerStatuses": [{"name": "worker", "state": {"waiting": {"reason": "ContainerCreating"}}}]})");
  EXPECT_EQ(view.trouble, "");
  EXPECT_EQ(view.creating_since, kStart + std::chrono::seconds(5));
  EXPECT_FALSE(pod(R"({"phase": "Pending"})", "").creating_since) << "it has no machine";
}

TEST(PodView, KnowsSinceWhenAContainerRuns) {
  const PodView view = pod(R"({"phase": "Running",
      "containerStatuses": [{"name": "worker", "state": {"running": {"startedAt": "2030-01-01T00:00:05Z"}}}]})");
  EXPECT_EQ(view.running_since, kStart + std::chrono::seconds(5));
  EXPECT_FALSE(pod(R"({"phase": "Pending"})").running_since);
}

TEST(PodView, KnowsHowAPodEnded) {
  const PodView killed =
      pod(R"({"phase": "Failed", "containerStatuses": [{"name": "worker", "state": {"terminated":
      {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2030-01-01T00:00:07Z", "message": "words"}}}]})");
  EXPECT_TRUE(killed.out_of_memory);
  EXPECT_EQ(killed.exit_code, 137);
  EXPECT_EQ(killed.last_words, "words");
  const PodView rejected = pod(R"({"phase": "Failed", "reason": "OutOfcpu",
      "message": "Pod was rejected: Node didn't have enough resource: cpu"})");
  EXPECT_FALSE(rejected.exit_code);
  EXPECT_THAT(rejected.last_words, HasSubstr("enough resource"));
  const PodView evicted = pod(R"({"phase": "Failed", "reason": "Evicted", "message": "it took too much"})");
  EXPECT_TRUE(evicted.evicted);
  EXPECT_FALSE(evicted.disrupted);
  EXPECT_EQ(evicted.last_words, "it took too much");
}

// Meshes put their proxies beside the worker.
TEST(PodView, ItsWorkerEndsItWhateverElseRunsInIt) {
  const auto with = [](const char* phase, int exit_code, const char* proxy) {
    return pod(fmt::format(R"({{"phase": "{}", "containerStatuses": [
        {{"name": "worker", "state": {{"terminated": {{"exitCode": {}, "message": "words"}}}}}},
        {{"name": "istio-proxy", "state": {}}}]}})",
                           phase, exit_code, proxy));
  };
  constexpr const char* kRuns = R"({"running": {"startedAt": "2030-01-01T00:00:01Z"}})";
  for (const auto& [exit_code, phase] :
       {std::pair(137, PodPhase::kFailed), std::pair(0, PodPhase::kSucceeded)}) {
    const PodView view = with("Running", exit_code, kRuns);
    EXPECT_EQ(view.phase, phase);
    EXPECT_EQ(view.exit_code, exit_code);
    EXPECT_EQ(view.last_words, "words");
    EXPECT_FALSE(view.alive());
    EXPECT_FALSE(view.running_since);
    EXPECT_TRUE(view.holds_machine(kStart)) << "until it is gone";
  }
  const PodView over = with("Failed", 0, R"({"terminated": {"exitCode": 1, "message": "of the proxy"}})");
  EXPECT_EQ(over.phase, PodPhase::kSucceeded);
  EXPECT_EQ(over.last_words, "words");
  EXPECT_FALSE(over.holds_machine(kStart));
}

TEST(PodView, KnowsSinceWhenTheClusterHearsNothingOfItsMachine) {
  const auto silent_since = [](const std::string& ready) {
    return pod(fmt::format(R"({{"phase": "Running", "conditions": [
        {{"type": "Ready", "lastTransitionTime": "2030-01-01T00:00:05Z", {}}}]}})",
                           ready))
        .silent_since;
  };
  EXPECT_EQ(silent_since(R"("status": "False")"), kStart + std::chrono::seconds(5));
  EXPECT_FALSE(silent_since(R"("status": "True")"));
  EXPECT_FALSE(silent_since(R"("status": "False", "reason": "ContainersNotReady")")) << "its kubelet says so";
}

}  // namespace
}  // namespace caravan::controller::testing
