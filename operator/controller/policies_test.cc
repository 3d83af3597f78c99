// Tables of cases for the policies that decide alone.
#include <gmock/gmock.h>

#include "operator/controller/conditions.h"
#include "operator/controller/deadline_policy.h"
#include "operator/controller/device_survey.h"
#include "operator/controller/failure_policy.h"
#include "operator/controller/planning_policy.h"
#include "operator/controller/progress_policy.h"
#include "operator/controller/suspension_policy.h"
#include "operator/controller/ttl_policy.h"
#include "operator/testing/jobs.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Action = LossVerdict::Action;

v1alpha1::JobStatus running_status(int attempt = 1, bool running = true) {
  v1alpha1::JobStatus status;
  status.set_attempt(attempt);
  Conditions(status, 1, kStart).set(conditions::kRunning, running, reasons::kStepsAdvancing, "");
  return status;
}

PodView deleted_pod(int node) {
  PodView pod = running_pod(node);
  pod.gone_by = kStart + 60s;
  return pod;
}

TEST(FailurePolicy, ALossCountsOnceForTheAttemptThatItEnds) {
  const PodView killed = ended_pod(1, 137, kStart);
  struct Case {
    const char* what;
    std::vector<PodView> pods;
    v1alpha1::JobStatus status;
    Action action;
  };
  const Case cases[] = {
      {"all run", {running_pod(0), running_pod(1)}, running_status(), Action::kNone},
      {"a pod was killed", {running_pod(0), killed}, running_status(), Action::kRestart},
      {"a pod is being deleted", {running_pod(0), deleted_pod(1)}, running_status(), Action::kRestart},
      {"a pod is gone", {running_pod(0)}, running_status(), Action::kRestart},
      {"pods are still being made", {running_pod(0)}, running_status(1, false), Action::kNone},
      {"a pod of this attempt dies before the gang runs",
       {running_pod(0), killed},
       running_status(1, false),
       Action::kRestart},
      {"a pod of the attempt before is still there",
       {running_pod(0), killed},
       running_status(2, false),
       Action::kNone},
      {"it was replaced already",
       {running_pod(0), killed, running_pod(1, 2)},
       running_status(2),
       Action::kNone},
      {"it ended by itself a moment ago",
       {running_pod(0), ended_pod(1, 1, kStart)},
       running_status(),
       Action::kNone},
      {"it ended by itself and no result followed",
       {running_pod(0), ended_pod(1, 1, kStart - 31s)},
       running_status(),
       Action::kRestart},
  };
  for (const Case& c : cases)
    EXPECT_EQ(judge_losses(job().spec, c.status, c.pods, 2, kStart).action, c.action) << c.what;
}

TEST(FailurePolicy, TheFirstRuleThatMatchesDecidesBeforeTheBudget) {
  PodView preempted = running_pod(1);
  preempted.phase = PodPhase::kFailed;
  preempted.disrupted = true;
  const auto judge = [&](const std::string& policy, const PodView& pod) {
    auto status = running_status();
    status.set_counted_restarts(2);
    return judge_losses(job(R"(, "failurePolicy": )" + policy).spec, status, {running_pod(0), pod}, 2,
                        kStart);
  };
  const PodView killed = ended_pod(1, 137, kStart);
  EXPECT_EQ(judge(R"({"maxRestarts": 3})", killed).action, Action::kRestart);
  const LossVerdict over = judge(R"({"maxRestarts": 2})", killed);
  EXPECT_EQ(over.reason, reasons::kMaxRestartsReached);
  EXPECT_THAT(over.message, HasSubstr("2 of 2 restarts"));
  const LossVerdict free =
      judge(R"({"maxRestarts": 2, "rules": [{"onReason": "Preempted", "action": "RestartIgnoringLimit"}]})",
            preempted);
  EXPECT_EQ(free.action, Action::kRestart);
  EXPECT_FALSE(free.counts);
  EXPECT_EQ(free.reason, reasons::kPreempted);
  EXPECT_EQ(judge(R"({"rules": [{"onReason": "PodLost", "action": "Fail"}]})", killed).reason,
            reasons::kFailurePolicyMatched);
}

TEST(FailurePolicy, OnlyRestartsOfTheWindowCount) {
  const auto policy = job(R"(, "failurePolicy": {"windowSeconds": 100})").spec.failure_policy();
  v1alpha1::JobStatus status;
  status.set_attempt(1);
  count_restarts(policy, 2, true, kStart, status);
  count_restarts(policy, 3, true, kStart + 100s, status);
  EXPECT_EQ(used_restarts(policy, status, kStart + 100s), 2);
  EXPECT_EQ(used_restarts(policy, status, kStart + 101s), 0);
  count_restarts(policy, 4, true, kStart + 101s, status);
  EXPECT_EQ(used_restarts(policy, status, kStart + 101s), 1);
  EXPECT_EQ(status.restarts(), 3) << "what users see is never set back";
}

TEST(FailurePolicy, AnAttemptThatIsKnownIsNotCountedAgain) {
  v1alpha1::JobStatus status;
  status.set_attempt(2);
  count_restarts({}, 2, true, kStart, status);
  EXPECT_EQ(status.restarts(), 0);
}

TEST(DeadlinePolicy, CountsFromTheStartAndSaysWhenToLookAgain) {
  const auto spec = job(R"(, "activeDeadlineSeconds": 60)").spec;
  v1alpha1::JobStatus status;
  EXPECT_FALSE(judge_deadline(spec, status, kStart).over) << "it has not started";
  status.set_start_time(to_text(kStart));
  EXPECT_EQ(judge_deadline(spec, status, kStart + 20s).look_again, 40s);
  EXPECT_TRUE(judge_deadline(spec, status, kStart + 60s).over);
  EXPECT_FALSE(judge_deadline(job().spec, status, kStart + 1000h).over);
}

TEST(TtlPolicy, CountsFromTheEnd) {
  const auto spec = job(R"(, "ttlSecondsAfterFinished": 60)").spec;
  v1alpha1::JobStatus status;
  EXPECT_FALSE(judge_ttl(spec, status, kStart).expired);
  status.set_completion_time(to_text(kStart));
  EXPECT_EQ(judge_ttl(spec, status, kStart + 59s).look_again, 1s);
  EXPECT_TRUE(judge_ttl(spec, status, kStart + 60s).expired);
}

TEST(SuspensionPolicy, FollowsTheSpec) {
  v1alpha1::JobStatus suspended;
  Conditions(suspended, 1, kStart).set(conditions::kSuspended, true, reasons::kByUser, "");
  const auto wanted = job(R"(, "suspend": true)").spec;
  EXPECT_EQ(judge_suspension(job().spec, {}), Suspension::kNone);
  EXPECT_EQ(judge_suspension(wanted, {}), Suspension::kSuspend);
  EXPECT_EQ(judge_suspension(wanted, suspended), Suspension::kStay);
  EXPECT_EQ(judge_suspension(job().spec, suspended), Suspension::kResume);
}

TEST(ProgressPolicy, TheEndIsKnownFromTheReportOrFromTheLastWordsOfNodeZero) {
  using End = EndVerdict::End;
  const auto result = [](const char* kind, const char* reason) {
    v1alpha1::JobResult told;
    told.set_result(kind);
    told.set_reason(reason);
    return told;
  };
  PodView failed = ended_pod(0, 1, kStart);
  EXPECT_EQ(judge_end({}, {failed}).end, End::kNone);
  failed.last_words = R"({"result": "Failed", "reason": "NonFiniteLoss", "message": "m", "exitCode": 1})";
  EXPECT_EQ(judge_end({}, {failed}).reason, "NonFiniteLoss");
  EXPECT_EQ(judge_end({}, {ended_pod(0, 0, kStart)}).end, End::kComplete);
  EXPECT_EQ(judge_end({}, {running_pod(0), ended_pod(1, 0, kStart)}).end, End::kNone);
  EXPECT_EQ(judge_end(JobProgress{.result = result("Complete", "StepsReached")}, {}).end, End::kComplete);
  EXPECT_EQ(judge_end(JobProgress{.result = result("Interrupted", "StoppedByUser")}, {}).end, End::kNone);
}

TEST(ProgressPolicy, StepsAreShownEveryHalfMinute) {
  v1alpha1::JobStatus status;
  JobProgress progress{.attempt = 1};
  progress.step.emplace();
  progress.step->set_step(1);
  EXPECT_FALSE(show_progress(job().spec, progress, false, kStart, status).look_again);
  progress.step->set_step(2);
  EXPECT_EQ(show_progress(job().spec, progress, false, kStart + 10s, status).look_again, 20s);
  EXPECT_EQ(status.progress().step(), 1);
  show_progress(job().spec, progress, false, kStart + 30s, status);
  EXPECT_EQ(status.progress().step(), 2);
  EXPECT_EQ(status.progress().percent(), 2);
}

TEST(ProgressPolicy, AFailureThatTheCoordinatorTellsOfBecomesTheNextAttempt) {
  v1alpha1::JobStatus status = running_status();
  JobProgress progress{.attempt = 1};
  progress.event.emplace();
  progress.event->set_attempt(1);
  progress.event->set_restarting(true);
  progress.event->set_reason("OutOfMemory");
  for (int i = 0; i < 2; ++i) follow_attempts(job().spec, progress, 1, kStart, status);
  EXPECT_EQ(status.attempt(), 2);
  EXPECT_EQ(status.restarts(), 1);
  EXPECT_FALSE(is_true(status, conditions::kRunning));
  EXPECT_EQ(find_condition(status, conditions::kRestarting)->reason(), reasons::kRankFailed);
  progress.attempt = 2;
  follow_attempts(job().spec, progress, 1, kStart, status);
  EXPECT_TRUE(is_true(status, conditions::kRunning));
  EXPECT_FALSE(is_true(status, conditions::kRestarting));
  EXPECT_EQ(status.restarts(), 1);
}

NodeView gpu_node(const std::string& name, const std::string& product, int gpus) {
  return {.name = name,
          .labels = {{labels::kGpuProduct, product}, {labels::kGpuMemory, "81559"}},
          .allocatable = {{"nvidia.com/gpu", gpus}}};
}

Job gpu_job(const std::string& device, const std::string& preset = "llama3-8b") {
  kube::Json object = job_object();
  kube::JsonObject& spec = object.as_object()["spec"].as_object();
  spec["resources"] =
      kube::JsonObject{{"devices", 16}, {"device", kube::parse_json(device, "device").value()}};
  spec["model"] = kube::JsonObject{{"preset", preset}};
  spec["training"] = kube::JsonObject{{"steps", 10}, {"sequenceLength", 4096}, {"globalBatchSequences", 64}};
  return read_job(object);
}

TEST(PlanningPolicy, DevicesComeFromTheNodesThatHaveMost) {
  std::vector<NodeView> nodes{gpu_node("a", "NVIDIA-A100-SXM4-40GB", 8),
                              gpu_node("b", "NVIDIA-H100-80GB-HBM3", 8),
                              gpu_node("c", "NVIDIA-H100-80GB-HBM3", 8)};
  const DeviceSurvey found = survey_gpus(gpu_job("{}").spec, nodes);
  EXPECT_EQ(found.product, "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(found.devices_per_node, 8);
  const PlanVerdict verdict = judge_plan(gpu_job("{}"), nodes, {});
  ASSERT_TRUE(verdict.plan) << verdict.message;
  EXPECT_EQ(verdict.plan->nodes(), 2);
  EXPECT_EQ(verdict.plan->spec().data().path(), "/data/train.bin");
  nodes[1].usable = nodes[2].usable = false;
  EXPECT_EQ(survey_gpus(gpu_job("{}").spec, nodes).product, "NVIDIA-A100-SXM4-40GB");
}

TEST(PlanningPolicy, WhatDoesNotFitSaysWhyAndWhetherTheClusterCanHelp) {
  const PlanVerdict no_nodes = judge_plan(gpu_job("{}"), {}, {});
  EXPECT_EQ(no_nodes.reason, reasons::kDoesNotFit);
  EXPECT_FALSE(no_nodes.final);
  EXPECT_THAT(no_nodes.message, HasSubstr("no node that is ready offers nvidia.com/gpu"));
  const PlanVerdict too_large = judge_plan(gpu_job(R"({"product": "H100-80GB"})", "llama3.1-405b"), {}, {});
  EXPECT_EQ(too_large.reason, reasons::kDoesNotFit);
  EXPECT_THAT(too_large.message, HasSubstr("devices"));
  EXPECT_EQ(judge_plan(read_job(job_object(R"(, "unknown": 1)")), {}, {}).reason, reasons::kInvalidSpec);
}

}  // namespace
}  // namespace caravan::controller::testing
