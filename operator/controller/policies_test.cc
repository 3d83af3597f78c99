// Tables of cases for the policies that decide alone.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>

#include "common/json.h"
#include "common/schema/field_rules.h"
#include "operator/api/conditions.h"
#include "operator/controller/end_policy.h"
#include "operator/controller/lifetime_policy.h"
#include "operator/controller/planning_policy.h"
#include "operator/controller/progress_policy.h"
#include "operator/controller/story.h"
#include "operator/controller/suspension_policy.h"
#include "operator/service/job_progress.h"
#include "operator/testing/jobs.h"
#include "operator/view/device_survey.h"
#include "operator/view/progress_status.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const JobFacts kFacts{.steps = 100, .created_at = kStart};

TEST(DeadlinePolicy, CountsFromTheStartAndSaysWhenToLookAgain) {
  const auto spec = job(R"(, "activeDeadlineSeconds": 60)").spec;
  v1alpha1::JobStatus status;
  const auto fails = Verdict::Course::kFails;
  EXPECT_NE(judge_deadline(spec, status, kStart).course, fails) << "it has not started";
  status.set_start_time(to_text(kStart));
  EXPECT_EQ(judge_deadline(spec, status, kStart + 20s).look_again, 40s);
  EXPECT_EQ(judge_deadline(spec, status, kStart + 60s).course, fails);
  EXPECT_NE(judge_deadline(job().spec, status, kStart + 1000h).course, fails);
}

TEST(TtlPolicy, CountsFromTheEnd) {
  Snapshot snapshot{.job = job(R"(, "ttlSecondsAfterFinished": 60)")};
  v1alpha1::JobStatus& status = snapshot.job.status;
  Conditions(status, 1, kStart).set(conditions::kFailed, true, reasons::kRankFailed, "");
  EXPECT_TRUE(judge_finished(snapshot, status, kStart + 1000h).effects.empty())
      << "nobody knows when it ended";
  status.set_completion_time(to_text(kStart));
  const Verdict early = judge_finished(snapshot, status, kStart + 59s);
  EXPECT_EQ(early.look_again, 1s);
  EXPECT_TRUE(early.effects.empty());
  const Verdict late = judge_finished(snapshot, status, kStart + 60s);
  ASSERT_EQ(late.effects.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<DeleteJob>(late.effects[0]));
}

// "stops; True ByUser; attempt 3": what the policy says of a job, and what its status is then.
std::string suspension(bool is_wanted, const std::optional<QueueVerdict>& queue, v1alpha1::JobStatus status) {
  const Verdict verdict = judge_suspension(job(is_wanted ? R"(, "suspend": true)" : "").spec, queue, status);
  Conditions after(status, 1, kStart);
  for (const ConditionChange& change : verdict.conditions) after.write(change);
  const v1alpha1::Condition* condition = find_condition(status, conditions::kSuspended);
  return fmt::format("{}; {}; attempt {}{}", verdict.course == Verdict::Course::kStops ? "stops" : "goes on",
                     condition == nullptr ? "" : condition->status() + " " + condition->reason(),
                     status.attempt(), status.start_time().empty() ? "" : ", its time runs");
}

v1alpha1::JobStatus third_attempt(const char* suspended_by = nullptr) {
  v1alpha1::JobStatus status;
  status.set_attempt(3);
  status.set_start_time(to_text(kStart));
  if (suspended_by != nullptr)
    Conditions(status, 1, kStart).set(conditions::kSuspended, true, suspended_by, "");
  return status;
}

TEST(SuspensionPolicy, FollowsWhatTheUserWants) {
  const QueueVerdict none;
  EXPECT_EQ(suspension(false, none, third_attempt()), "goes on; ; attempt 3, its time runs");
  EXPECT_EQ(suspension(true, none, third_attempt()), "stops; True ByUser; attempt 3");
  EXPECT_EQ(suspension(true, none, third_attempt(reasons::kByUser)),
            "stops; True ByUser; attempt 3, its time runs")
      << "what began anew with the suspension stays";
  EXPECT_EQ(suspension(false, none, third_attempt(reasons::kByUser)),
            "goes on; False Resumed; attempt 4, its time runs");
}

TEST(SuspensionPolicy, WhatTheQueueHasTakenBackItMustGiveAgain) {
  const auto by = [](Verdict::Course course) {
    QueueVerdict queue;
    queue.course = course;
    queue.message = "told";
    return queue;
  };
  EXPECT_EQ(suspension(false, by(Verdict::Course::kStops), third_attempt()),
            "stops; True ByQueue; attempt 3");
  EXPECT_EQ(suspension(false, by(Verdict::Course::kWaits), third_attempt()),
            "goes on; ; attempt 3, its time runs");
  for (const auto& queue : {std::optional(by(Verdict::Course::kWaits)), std::optional<QueueVerdict>()})
    EXPECT_EQ(suspension(false, queue, third_attempt(reasons::kByQueue)),
              "stops; True ByQueue; attempt 3, its time runs");
  EXPECT_EQ(suspension(false, by(Verdict::Course::kGoesOn), third_attempt(reasons::kByQueue)),
            "goes on; False Resumed; attempt 4, its time runs");
}

TEST(ProgressPolicy, TheEndIsKnownFromTheReportOrFromTheLastWordsOfNodeZero) {
  using Course = Verdict::Course;
  const auto result = [](const char* kind, const char* reason) {
    v1alpha1::JobResult told;
    told.set_result(kind);
    told.set_reason(reason);
    return told;
  };
  PodView failed = ended_pod(0, 1, kStart);
  EXPECT_EQ(judge_end(kFacts, {}, {failed}, kStart).course, Course::kGoesOn);
  failed.last_words = R"({"result": "Failed", "reason": "NonFiniteLoss", "message": "m", "exitCode": 1})";
  EXPECT_EQ(judge_end(kFacts, {}, {failed}, kStart).reason, "NonFiniteLoss");
  failed.last_words = R"({"reason": "NonFiniteLoss", "result": "Failed", "ofALaterVersion": {"depth": 1}})";
  EXPECT_EQ(judge_end(kFacts, {}, {failed}, kStart).reason, "NonFiniteLoss") << "an agent may be a later one";
  EXPECT_EQ(judge_end(kFacts, {}, {ended_pod(0, 0, kStart)}, kStart).course, Course::kCompletes);
  EXPECT_EQ(judge_end(kFacts, {}, {running_pod(0), ended_pod(1, 0, kStart)}, kStart).course, Course::kGoesOn);
  EXPECT_EQ(judge_end(kFacts, JobProgress{.result = result("Complete", "StepsReached")}, {}, kStart).course,
            Course::kCompletes);
  EXPECT_EQ(
      judge_end(kFacts, JobProgress{.result = result("Interrupted", "StoppedByUser")}, {}, kStart).course,
      Course::kGoesOn);
}

TEST(ProgressPolicy, TheLastWordsTellOfTheLastStep) {
  PodView done = ended_pod(0, 0, kStart);
  done.last_words =
      R"({"result": "Complete", "lastStep": {"step": 7, "loss": 2.5, "peakBytesPerRank": ["64"]}})";
  const EndVerdict verdict = judge_end(kFacts, {}, {done}, kStart);
  ASSERT_TRUE(verdict.last_step);
  EXPECT_EQ(verdict.last_step->step(), 7);
  EXPECT_EQ(verdict.last_step->loss(), 2.5);
}

TEST(ProgressPolicy, LastWordsThatCannotBeTrueAreNotHeard) {
  PodView done = ended_pod(0, 1, kStart);
  done.last_words = R"({"result": "Complete", "restarts": 2147483647})";
  EXPECT_EQ(judge_end(kFacts, {}, {done}, kStart).course, Verdict::Course::kGoesOn);
  done.last_words = R"({"result": "Complete", "lastStep": {"step": 7, "tokensPerSecond": 1e300}})";
  EXPECT_EQ(judge_end(kFacts, {}, {done}, kStart).course, Verdict::Course::kGoesOn);
  done.last_words = R"({"result": "Failed", "reason": ")" + std::string(3000, 'r') + "\"}";
  EXPECT_EQ(judge_end(kFacts, {}, {done}, kStart).reason, reasons::kRankFailed);
}

TEST(ProgressPolicy, ALossThatIsNoNumberIsShownAsSuch) {
  for (const auto& [loss, shown] :
       {std::pair(std::nan(""), "NaN"), {-HUGE_VAL, "-Infinity"}, {HUGE_VAL, "Infinity"}}) {
    v1alpha1::JobStatus status;
    JobProgress progress{.attempt = 1};
    progress.step.emplace().set_step(1);
    progress.step->set_loss(loss);
    show_progress(job().spec, progress, false, kStart, status);
    EXPECT_EQ(status.progress().loss(), shown);
  }
}

TEST(ProgressPolicy, BeforeTheFirstStepNoColumnIsBlank) {
  v1alpha1::JobStatus status;
  announce_steps(job().spec, status);
  EXPECT_TRUE(status.progress().has_percent());
  EXPECT_EQ(status.progress().mfu_percent(), "-");
  JobProgress progress{.attempt = 1};
  progress.step.emplace();
  progress.step->set_step(1);
  show_progress(job().spec, progress, false, kStart, status);
  EXPECT_EQ(status.progress().step(), 1);
  EXPECT_EQ(status.progress().mfu_percent(), "-") << "the peak of the device is not known";
}

TEST(ProgressPolicy, TheLastCompleteCheckpointIsShownWithItsFolder) {
  v1alpha1::JobReport report;
  v1alpha1::CheckpointReport& checkpoint = *report.mutable_checkpoint()->mutable_report();
  JobProgress progress{.attempt = 1};
  const auto tell = [&](v1alpha1::CheckpointReport::Outcome outcome, int step) {
    checkpoint.set_outcome(outcome);
    checkpoint.set_step(step);
    add_report(report, kStart, progress);
  };
  tell(v1alpha1::CheckpointReport::Written, 500);
  tell(v1alpha1::CheckpointReport::Failed, 1000);
  v1alpha1::JobStatus status;
  const Job with_checkpoints = job(R"(, "checkpoint": {"path": "mine", "claimName": "c"})");
  show_progress(with_checkpoints.spec, progress, false, kStart, status);
  EXPECT_EQ(status.last_checkpoint().step(), 500);
  EXPECT_EQ(status.last_checkpoint().path(), "mine/step-000500");
  EXPECT_EQ(status.last_checkpoint().time(), to_text(kStart));
}

TEST(ProgressPolicy, TheCheckpointsThatTheFolderKeepsAreShownAlsoByTheNextOperator) {
  const Job with_checkpoints = job(R"(, "checkpoint": {"path": "mine", "claimName": "c", "keepLast": 3})");
  v1alpha1::JobStatus status;
  const auto show = [&](std::vector<SavedStep> saved) {
    show_progress(with_checkpoints.spec, {.attempt = 1, .checkpoints = std::move(saved)}, true, kStart,
                  status);
    std::vector<int> steps;
    for (const auto& shown : status.checkpoints()) steps.push_back(shown.step());
    return steps;
  };
  status.mutable_last_checkpoint()->set_step(50);  // by an operator that knew no list
  EXPECT_EQ(show({{100, kStart}, {200, kStart + 60s}}), (std::vector{200, 100, 50}));
  EXPECT_EQ(show({{200, kStart + 60s}, {300, kStart + 120s}}), (std::vector{300, 200, 100}));
  EXPECT_EQ(show({{400, kStart + 180s}}), (std::vector{400, 300, 200})) << "another operator leads";
  EXPECT_EQ(status.checkpoints(1).time(), to_text(kStart + 120s));
  EXPECT_EQ(show({{250, kStart + 240s}}), (std::vector{250, 200})) << "trained again from an older one";
}

TEST(ProgressPolicy, AsManyCheckpointsAreShownAsTheDefinitionTakes) {
  const auto* list = v1alpha1::JobStatus::descriptor()->FindFieldByName("checkpoints");
  EXPECT_EQ(schema::rules_of(*list).max_items(), static_cast<int>(kMostCheckpointsShown));
}

TEST(ProgressPolicy, ASaveThatFailsIsAConditionUntilOneIsComplete) {
  v1alpha1::JobReport report;
  v1alpha1::CheckpointReport& checkpoint = *report.mutable_checkpoint()->mutable_report();
  JobProgress progress{.attempt = 1};
  v1alpha1::JobStatus status;
  const auto tell = [&](v1alpha1::CheckpointReport::Outcome outcome, int step, const std::string& message) {
    checkpoint.set_outcome(outcome);
    checkpoint.set_step(step);
    checkpoint.set_message(message);
    const bool news = add_report(report, kStart, progress);
    follow_saves(progress, 1, kStart, status);
    return news;
  };
  EXPECT_FALSE(tell(v1alpha1::CheckpointReport::Written, 500, ""));
  EXPECT_EQ(find_condition(status, conditions::kCheckpointFailing), nullptr);
  EXPECT_TRUE(tell(v1alpha1::CheckpointReport::Failed, 1000, "no space left"));
  EXPECT_TRUE(is_true(status, conditions::kCheckpointFailing));
  EXPECT_EQ(find_condition(status, conditions::kCheckpointFailing)->message(),
            "step 1000 has no checkpoint, and training goes on: no space left");
  EXPECT_FALSE(tell(v1alpha1::CheckpointReport::Failed, 1500, "no space left")) << "told already";
  EXPECT_TRUE(tell(v1alpha1::CheckpointReport::Written, 2000, ""));
  EXPECT_FALSE(is_true(status, conditions::kCheckpointFailing));
}

TEST(ProgressPolicy, AnAnswerToARequestIsNewsOnceAndMovesNoCheckpoint) {
  v1alpha1::JobReport report;
  v1alpha1::CheckpointReport& checkpoint = *report.mutable_checkpoint()->mutable_report();
  JobProgress progress{.attempt = 1, .checkpoints = {{500, kStart}}};
  checkpoint.set_outcome(v1alpha1::CheckpointReport::Answered);
  checkpoint.set_step(100);
  checkpoint.set_request("uid/now");
  EXPECT_TRUE(add_report(report, kStart, progress));
  EXPECT_EQ(progress.answered_request, "uid/now");
  EXPECT_EQ(progress.checkpoints.back().step, 500);
  EXPECT_FALSE(add_report(report, kStart, progress));
}

TEST(ProgressPolicy, SavesThatFailAndSucceedByTurnsAreOneEvent) {
  v1alpha1::JobStatus status;
  const auto events = [&](bool fails, TimePoint now) {
    JobProgress progress{.attempt = 1, .checkpoints = {{500, kStart}}};
    if (fails) progress.failed_save.emplace().set_step(1000);
    const v1alpha1::JobStatus before = status;
    follow_saves(progress, 1, now, status);
    return story_of(before, status).size();
  };
  EXPECT_EQ(events(true, kStart), 1U);
  EXPECT_EQ(events(false, kStart + 10s), 0U);
  EXPECT_EQ(events(true, kStart + 20s), 0U);
  EXPECT_EQ(events(false, kStart + 10min), 0U);
  EXPECT_EQ(events(true, kStart + 20min), 1U);
}

TEST(ProgressPolicy, AnAttemptThatGoesOnFromACheckpointSaysSo) {
  v1alpha1::JobReport report;
  report.mutable_checkpoint()->set_attempt(2);
  report.mutable_checkpoint()->mutable_report()->set_outcome(v1alpha1::CheckpointReport::Resumed);
  report.mutable_checkpoint()->mutable_report()->set_step(500);
  JobProgress progress{.attempt = 1};
  progress.step.emplace().set_step(520);
  EXPECT_TRUE(add_report(report, kStart, progress));
  EXPECT_FALSE(progress.step) << "of the attempt before";
  v1alpha1::JobStatus status;
  const auto running = [&] {
    follow_attempts(job().spec, progress, {}, 1, kStart, status);
    return find_condition(status, conditions::kRunning)->message();
  };
  EXPECT_EQ(running(), "attempt 2: the ranks start, from the checkpoint of step 500 on");
  progress.step.emplace().set_step(501);
  EXPECT_EQ(running(), "attempt 2 makes steps, from the checkpoint of step 500 on");
}

TEST(ProgressPolicy, StragglersAreNoFailuresAndTheFirstFewAreKept) {
  JobProgress progress{.attempt = 2};
  v1alpha1::JobReport report;
  const auto tell = [&](int attempt, const std::string& message) {
    report.mutable_event()->set_reason(reasons::kStraggler);
    report.mutable_event()->set_attempt(attempt);
    report.mutable_event()->set_message(message);
    return add_report(report, kStart, progress);
  };
  EXPECT_FALSE(tell(1, "of the attempt before"));
  EXPECT_TRUE(tell(2, "rank 0"));
  EXPECT_FALSE(tell(2, "rank 0")) << "told again after a reconnection";
  for (int rank = 1; rank < 16; ++rank) EXPECT_TRUE(tell(2, fmt::format("rank {}", rank)));
  EXPECT_FALSE(tell(2, "rank 16")) << "who tells without an end is not heard";
  EXPECT_FALSE(progress.event);
  ASSERT_EQ(progress.stragglers.size(), 16U);
  EXPECT_EQ(progress.stragglers.back().message(), "rank 15");
  v1alpha1::JobReport next;
  next.mutable_attempt_started()->set_attempt(3);
  add_report(next, kStart, progress);
  EXPECT_TRUE(progress.stragglers.empty());
}

TEST(ProgressPolicy, ANodeIsAbsentUntilTheAttemptThatItKeepsBackStarts) {
  JobProgress progress{.attempt = 1};
  v1alpha1::JobReport report;
  report.mutable_event()->set_reason(reasons::kNodeAbsent);
  report.mutable_event()->set_message("not joined within 600 s: node 3");
  report.mutable_event()->add_absent_nodes(3);
  report.mutable_event()->set_attempt(1);
  EXPECT_FALSE(add_report(report, kStart, progress)) << "of an attempt that has started since";
  report.mutable_event()->set_attempt(2);
  EXPECT_TRUE(add_report(report, kStart, progress));
  ASSERT_TRUE(progress.absence);
  EXPECT_EQ(progress.absence->nodes, std::vector<int>{3});
  EXPECT_FALSE(progress.absence->of_all_others);
  EXPECT_FALSE(progress.event) << "it is no failure";
  v1alpha1::JobReport next;
  next.mutable_attempt_started()->set_attempt(2);
  add_report(next, kStart, progress);
  EXPECT_FALSE(progress.absence);
}

TEST(ProgressPolicy, StepsAreShownEveryHalfMinute) {
  v1alpha1::JobStatus status;
  JobProgress progress{.attempt = 1};
  progress.step.emplace();
  progress.step->set_step(1);
  EXPECT_FALSE(show_progress(job().spec, progress, false, kStart, status));
  progress.step->set_step(2);
  EXPECT_EQ(show_progress(job().spec, progress, false, kStart + 10s, status), 20s);
  EXPECT_EQ(status.progress().step(), 1);
  show_progress(job().spec, progress, false, kStart + 30s, status);
  EXPECT_EQ(status.progress().step(), 2);
  EXPECT_EQ(status.progress().percent(), 2);
}

TEST(JobObject, AStatusThatCannotBeReadIsNoEmptyStatus) {
  kube::Json object = job_object();
  EXPECT_EQ(read_job(object).unreadable_status, "");
  object.as_object()["status"] = kube::JsonObject{{"attempt", "many"}};
  EXPECT_THAT(read_job(object).unreadable_status, HasSubstr("its status cannot be read"));
  object.as_object()["status"] = kube::JsonObject{{"fieldOfALaterVersion", 1}};
  EXPECT_EQ(read_job(object).unreadable_status, "");
}

TEST(PlanningPolicy, CheckpointsOutlivePodsOnAClaimOnly) {
  const PlanVerdict own_files = judge_plan(job(R"(, "checkpoint": {"path": "mine"})"), {});
  EXPECT_EQ(own_files.course, Verdict::Course::kFails);
  EXPECT_EQ(own_files.reason, reasons::kInvalidSpec);
  EXPECT_THAT(own_files.message, HasSubstr("spec.checkpoint.claimName: must be set on a cluster"));
  EXPECT_TRUE(judge_plan(job(R"(, "checkpoint": {"path": "mine", "claimName": "c"})"), {}).plan);
}

TEST(PlanningPolicy, WeightsReachPodsOnAClaimOnly) {
  Job without = job();
  without.spec.mutable_model()->mutable_init_from()->set_path("llama");
  const PlanVerdict verdict = judge_plan(without, {});
  EXPECT_EQ(verdict.course, Verdict::Course::kFails);
  EXPECT_EQ(verdict.reason, reasons::kInvalidSpec);
  EXPECT_THAT(verdict.message, HasSubstr("spec.model.initFrom.claimName: must be set on a cluster"));
  without.spec.mutable_model()->mutable_init_from()->set_claim_name("models");
  EXPECT_TRUE(judge_plan(without, {}).plan);
}

TEST(PlanningPolicy, WhatThisVersionCannotDoIsSaidAndNotIgnored) {
  constexpr const char* kSharded = R"(, "parallelism": {"zeroStage": 3})";
  const PlanVerdict sharded = judge_plan(job(kSharded), {});
  EXPECT_FALSE(sharded.plan);
  EXPECT_NE(sharded.course, Verdict::Course::kFails) << "a later operator may take it";
  EXPECT_EQ(sharded.reason, reasons::kInvalidSpec);
  EXPECT_THAT(sharded.message,
              HasSubstr("spec.parallelism.zeroStage: 3 is not available yet in this version"));
  const PlanVerdict queued = judge_plan(job(R"(, "scheduling": {"queue": "gold"})"), {});
  EXPECT_FALSE(queued.plan);
  EXPECT_NE(queued.course, Verdict::Course::kFails) << "it may be changed while suspended";
  EXPECT_THAT(queued.message,
              HasSubstr("spec.scheduling.queue: a queue needs gang.provider Kueue or Volcano"));
  Job planned = job(R"(, "scheduling": {"queue": "gold"})");
  planned.status.mutable_plan()->set_document(judge_plan(job(), {}).document);
  const PlanVerdict goes_on = judge_plan(planned, {});
  EXPECT_TRUE(goes_on.plan) << "by an operator that could";
  EXPECT_THAT(goes_on.message, HasSubstr("a queue needs gang.provider"));
  EXPECT_THAT(judge_plan(job(), {}).message,
              HasSubstr("the weights are not kept, and a restart begins at the first step"));
  EXPECT_TRUE(judge_plan(job(R"(, "scheduling": {"gang": {}})"), {}).plan) << "None is the default";
}

TEST(PlanningPolicy, AShapeThatStandsInAClaimOnlyIsAskedFor) {
  Job job = read_job(job_object());
  job.spec.mutable_model()->clear_preset();
  job.spec.mutable_model()->mutable_init_from()->set_claim_name("models");
  job.spec.mutable_model()->mutable_init_from()->set_path("llama");
  const PlanVerdict verdict = judge_plan(job, {});
  EXPECT_EQ(verdict.reason, reasons::kInvalidSpec);
  EXPECT_THAT(verdict.message, HasSubstr("set preset or architecture too"));
}

TEST(PlanningPolicy, DevicesComeFromTheNodesThatHaveMost) {
  std::vector<NodeView> nodes{gpu_node("a", "NVIDIA-A100-SXM4-40GB", 8),
                              gpu_node("b", "NVIDIA-H100-80GB-HBM3", 8),
                              gpu_node("c", "NVIDIA-H100-80GB-HBM3", 8)};
  const std::vector<DevicePool> found = device_pools(gpu_job("{}").spec, nodes);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].product, "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(found[0].devices_per_node, 8);
  EXPECT_EQ(found[0].devices, 16);
  const PlanVerdict verdict = judge_plan(gpu_job("{}"), nodes);
  ASSERT_TRUE(verdict.plan) << verdict.message;
  EXPECT_EQ(verdict.plan->nodes(), 2);
  EXPECT_EQ(verdict.plan->spec().data().path(), "/data/train.bin");
  nodes[1].usable = nodes[2].usable = false;
  EXPECT_EQ(device_pools(gpu_job("{}").spec, nodes).at(0).product, "NVIDIA-A100-SXM4-40GB");
}

TEST(PlanningPolicy, ClaimsAreTheFoldersThatPodsMount) {
  Job job = gpu_job("{}");
  job.spec.mutable_checkpoint()->set_claim_name("states");
  job.spec.mutable_checkpoint()->set_path("runs/tiny");
  job.spec.mutable_model()->mutable_init_from()->set_claim_name("models");
  job.spec.mutable_model()->mutable_init_from()->set_path("llama3-8b");
  job.spec.mutable_data()->set_validation_path("held-out.bin");
  const PlanVerdict verdict =
      judge_plan(job, std::vector<NodeView>{gpu_node("a", "NVIDIA-H100-80GB-HBM3", 8),
                                            gpu_node("b", "NVIDIA-H100-80GB-HBM3", 8)});
  ASSERT_TRUE(verdict.plan) << verdict.message;
  EXPECT_EQ(verdict.plan->spec().checkpoint().claim_name(), "");
  EXPECT_EQ(verdict.plan->spec().checkpoint().path(), "/checkpoints/runs/tiny");
  EXPECT_EQ(verdict.plan->spec().model().init_from().claim_name(), "");
  EXPECT_EQ(verdict.plan->spec().model().init_from().path(), "/weights/llama3-8b");
  EXPECT_EQ(verdict.plan->spec().data().validation_path(), "/data/held-out.bin");
}

TEST(PlanningPolicy, TheProductThatANodeSaysIsInThePlanWhoeverNamedIt) {
  const std::vector<NodeView> nodes{gpu_node("a", "NVIDIA-A100-SXM4-40GB", 8),
                                    gpu_node("b", "NVIDIA-A100-SXM4-40GB", 8),
                                    gpu_node("c", "NVIDIA-H100-80GB-HBM3", 8)};
  const auto bound_to = [](const std::string& device, const std::vector<NodeView>& by) {
    const PlanVerdict verdict = judge_plan(gpu_job(device), by);
    return verdict.plan ? verdict.plan->gpu_product() : verdict.message;
  };
  EXPECT_EQ(bound_to("{}", nodes), "NVIDIA-A100-SXM4-40GB");
  EXPECT_EQ(bound_to(R"({"product": "H100-80GB"})", nodes), "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(bound_to(R"({"product": "H100-80GB"})", {}), "") << "no node says what it has";
  EXPECT_EQ(bound_to(R"({"memory": "80Gi"})", nodes), "") << "any product will do";
}

TEST(PlanningPolicy, TheProductOfAPlanThatWasMadeStands) {
  for (const char* device : {"{}", R"({"product": "H100-80GB"})"}) {
    Job made = gpu_job(device);
    const PlanVerdict first = judge_plan(made, {gpu_node("a", "NVIDIA-H100-80GB-HBM3", 8)});
    ASSERT_TRUE(first.plan) << first.message;
    EXPECT_EQ(first.plan->gpu_product(), "NVIDIA-H100-80GB-HBM3");
    EXPECT_FALSE(first.plan->spec().resources().device().product().empty());
    made.status.mutable_plan()->set_document(first.document);
    const PlanVerdict later = judge_plan(made, {gpu_node("b", "NVIDIA-A100-SXM4-40GB", 8)});
    ASSERT_TRUE(later.plan) << later.message;
    EXPECT_EQ(to_json(*later.plan), to_json(*first.plan));
  }
}

TEST(PlanningPolicy, WhatNodesHaveMayBeTooLittleForTheBoundOfNodes) {
  Job job = gpu_job("{}");
  job.spec.mutable_resources()->set_devices(32768);
  const PlanVerdict verdict = judge_plan(job, {gpu_node("a", "NVIDIA-H100-80GB-HBM3", 1)});
  EXPECT_FALSE(verdict.plan);
  EXPECT_NE(verdict.course, Verdict::Course::kFails) << "larger nodes may come";
  EXPECT_THAT(verdict.message,
              HasSubstr("a job may have at most 16384 nodes; devices is 32768, devicesPerNode is 1"));
}

TEST(PlanningPolicy, WhatDoesNotFitSaysWhyAndWhetherTheClusterCanHelp) {
  const PlanVerdict no_nodes = judge_plan(gpu_job("{}"), {});
  EXPECT_EQ(no_nodes.reason, reasons::kDoesNotFit);
  EXPECT_NE(no_nodes.course, Verdict::Course::kFails);
  EXPECT_THAT(no_nodes.message, HasSubstr("no node that is ready offers nvidia.com/gpu"));
  const PlanVerdict too_large = judge_plan(gpu_job(R"({"product": "H100-80GB"})", "llama3.1-405b"), {});
  EXPECT_EQ(too_large.reason, reasons::kDoesNotFit);
  EXPECT_THAT(too_large.message, HasSubstr("devices"));
}

}  // namespace
}  // namespace caravan::controller::testing
