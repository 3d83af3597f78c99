// Whether a loss costs a restart, and whose: tables of cases.
#include "operator/controller/failure_policy.h"

#include <gmock/gmock.h>

#include "operator/api/conditions.h"
#include "operator/controller/restart_count.h"
#include "operator/controller/told_failure.h"
#include "operator/service/job_progress.h"
#include "operator/testing/jobs.h"
#include "policy/failure_policy.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Course = Verdict::Course;

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
  PodView overdue = deleted_pod(1);
  overdue.gone_by = kStart - 1s;
  PodView never_ran = deleted_pod(1);
  never_ran.phase = PodPhase::kPending;
  struct Case {
    const char* what;
    std::vector<PodView> pods;
    v1alpha1::JobStatus status;
    Course course;
  };
  const Case cases[] = {
      {"all run", {running_pod(0), running_pod(1)}, running_status(), Course::kGoesOn},
      {"a pod was killed", {running_pod(0), killed}, running_status(), Course::kRestarts},
      {"a pod is being deleted", {running_pod(0), deleted_pod(1)}, running_status(), Course::kGoesOn},
      {"its grace is over", {running_pod(0), overdue}, running_status(), Course::kRestarts},
      {"it never ran", {running_pod(0), never_ran}, running_status(), Course::kRestarts},
      {"it has left", {running_pod(0), ended_pod(1, 75, kStart)}, running_status(), Course::kRestarts},
      {"a pod is gone", {running_pod(0)}, running_status(), Course::kRestarts},
      {"pods are still being made", {running_pod(0)}, running_status(1, false), Course::kGoesOn},
      {"a pod of this attempt dies before the gang runs",
       {running_pod(0), killed},
       running_status(1, false),
       Course::kRestarts},
      {"a pod of the attempt before is still there",
       {running_pod(0), killed},
       running_status(2, false),
       Course::kGoesOn},
      {"it was replaced already",
       {running_pod(0), killed, running_pod(1, 2)},
       running_status(2),
       Course::kGoesOn},
      {"it ended by itself a moment ago",
       {running_pod(0), ended_pod(1, 1, kStart)},
       running_status(),
       Course::kGoesOn},
      {"it ended by itself and no result followed",
       {running_pod(0), ended_pod(1, 1, kStart - 31s)},
       running_status(),
       Course::kRestarts},
  };
  for (const Case& c : cases)
    EXPECT_EQ(judge_losses(job().spec, c.status, c.pods, 2, kStart).course, c.course) << c.what;
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
  EXPECT_EQ(judge(R"({"maxRestarts": 3})", killed).course, Course::kRestarts);
  const FailureVerdict over = judge(R"({"maxRestarts": 2})", killed);
  EXPECT_EQ(over.reason, reasons::kMaxRestartsReached);
  EXPECT_THAT(over.message, HasSubstr("2 of 2 restarts"));
  const FailureVerdict free =
      judge(R"({"maxRestarts": 2, "rules": [{"onReason": "Preempted", "action": "RestartIgnoringLimit"}]})",
            preempted);
  EXPECT_EQ(free.course, Course::kRestarts);
  EXPECT_FALSE(free.counts);
  EXPECT_EQ(free.reason, reasons::kPreempted);
  EXPECT_EQ(judge(R"({"rules": [{"onReason": "PodLost", "action": "Fail"}]})", killed).reason,
            reasons::kFailurePolicyMatched);
}

TEST(FailurePolicy, APodThatWasToldToEndCostsNothing) {
  PodView evicted = ended_pod(1, 137, kStart);
  evicted.disrupted = true;
  for (const PodView& pod : {ended_pod(1, 75, kStart), evicted}) {
    const FailureVerdict verdict = judge_losses(job(R"(, "failurePolicy": {"maxRestarts": 0})").spec,
                                                running_status(), {running_pod(0), pod}, 2, kStart);
    EXPECT_EQ(verdict.course, Course::kRestarts);
    EXPECT_FALSE(verdict.counts);
    EXPECT_EQ(verdict.reason, reasons::kPreempted);
    EXPECT_THAT(verdict.message, HasSubstr(pod.disrupted ? "was preempted or evicted" : "was told to end"));
  }
}

TEST(FailurePolicy, APodThatItsMachineEvictsCosts) {
  PodView evicted = running_pod(1);
  evicted.phase = PodPhase::kFailed;
  evicted.evicted = true;
  evicted.last_words = "it took more than 2Gi of the disk";
  const auto judge = [&](const std::string& policy) {
    return judge_losses(job(R"(, "failurePolicy": )" + policy).spec, running_status(),
                        {running_pod(0), evicted}, 2, kStart);
  };
  EXPECT_EQ(judge(R"({"maxRestarts": 0})").reason, reasons::kMaxRestartsReached);
  const FailureVerdict verdict = judge("{}");
  EXPECT_TRUE(verdict.counts);
  EXPECT_EQ(verdict.machine, "") << "which is not to blame";
  EXPECT_THAT(verdict.message, HasSubstr("was evicted by its machine: it took more than 2Gi of the disk"));
  evicted.exit_code = 75;  // its agent was told to end
  EXPECT_TRUE(judge("{}").counts);
}

TEST(FailurePolicy, AnEndThatLiesAheadIsNotWaitedFor) {
  const PodView late = ended_pod(1, 1, kStart + 1h);  // by a clock that is wrong
  const auto judge = [&](const PodView& pod) {
    return judge_losses(job().spec, running_status(), {running_pod(0), pod}, 2, kStart);
  };
  EXPECT_EQ(judge(late).course, Course::kRestarts);
  EXPECT_TRUE(judge(ended_pod(1, 1, kStart + 30s)).word_may_follow);
}

TEST(FailurePolicy, WhyAPodWentWhileNobodyLedItsCoordinatorMayTell) {
  const auto judge = [](const std::vector<PodView>& pods, TimePoint now) {
    return judge_losses(job().spec, running_status(), pods, 2, now, kStart);
  };
  const FailureVerdict early = judge({running_pod(0)}, kStart + 20s);
  EXPECT_EQ(early.course, Course::kGoesOn);
  EXPECT_EQ(early.look_again, 100s);
  EXPECT_TRUE(early.word_may_follow);
  EXPECT_EQ(judge({running_pod(0)}, kStart + 120s).course, Course::kRestarts);
  EXPECT_EQ(judge({running_pod(1)}, kStart).course, Course::kRestarts) << "its coordinator is gone itself";
  EXPECT_EQ(judge({running_pod(0), ended_pod(1, 137, kStart)}, kStart).course, Course::kRestarts);
}

TEST(FailurePolicy, APodThatLeavesIsLookedAtAgainWhenItsGraceIsOver) {
  PodView pod = deleted_pod(1);
  pod.gone_by = kStart + 300s;
  const FailureVerdict verdict = judge_losses(job().spec, running_status(), {running_pod(0), pod}, 2, kStart);
  EXPECT_EQ(verdict.look_again, 300s + 1ms);
}

TEST(FailurePolicy, ARuleForExitCodesHoldsForLostPodsToo) {
  const auto judge = [](const PodView& pod) {
    const auto spec =
        job(R"(, "failurePolicy": {"rules": [{"onExitCodes": [139], "onReason": "PodLost", "action": "Fail"}]})")
            .spec;
    return judge_losses(spec, running_status(), {running_pod(0), pod}, 2, kStart).course;
  };
  EXPECT_EQ(judge(ended_pod(1, 139, kStart)), Course::kFails);
  EXPECT_EQ(judge(ended_pod(1, 137, kStart)), Course::kRestarts);
  PodView rejected = running_pod(1);
  rejected.phase = PodPhase::kFailed;
  EXPECT_EQ(judge(rejected), Course::kRestarts) << "no exit code is known";
}

v1alpha1::EndedAttempt ended(int attempt, const std::string& reason, bool counts) {
  v1alpha1::EndedAttempt ended;
  ended.set_attempt(attempt);
  ended.set_reason(reason);
  ended.set_counts(counts);
  return ended;
}

TEST(FailurePolicy, RestartsWhileNobodyListenedCostWhatTheyWouldHaveCost) {
  const auto policy =
      job(R"(, "failurePolicy": {"rules": [{"onReason": "PodLost", "action": "RestartIgnoringLimit"}]})")
          .spec.failure_policy();
  const JobProgress progress{.attempt = 7,
                             .ended = {ended(1, "RankFailed", true), ended(2, "Stalled", false),
                                       ended(4, "RankFailed", true), ended(5, "PodLost", false)}};
  v1alpha1::JobStatus status = running_status(2);
  status.set_restarts(1);
  for (int i = 0; i < 2; ++i) count_told_restarts(policy, progress, {}, 7, kStart, status);
  EXPECT_EQ(status.attempt(), 7);
  EXPECT_EQ(status.restarts(), 4) << "2, 4 and 5; 1 was known, 3 and 6 never ran";
  EXPECT_EQ(status.counted_restarts(), 1) << "4 alone: a rule forgives lost pods";
  status = running_status(4);
  count_told_restarts({}, progress, {}, 7, kStart, status);
  EXPECT_EQ(status.counted_restarts(), 2) << "without the rule, 5 counts as well";
}

TEST(FailurePolicy, APreemptionWhileNobodyListenedCostsWhatItsRuleSays) {
  const auto policy = job(R"(, "failurePolicy": {"rules": [{"onReason": "Preempted", "action": "Restart"}]})")
                          .spec.failure_policy();
  const JobProgress progress{.attempt = 3, .ended = {ended(2, "Preempted", false)}};
  for (const bool has_rule : {true, false}) {
    v1alpha1::JobStatus status = running_status(2);
    count_told_restarts(has_rule ? policy : v1alpha1::FailurePolicy(), progress, {}, 3, kStart, status);
    EXPECT_EQ(status.restarts(), 1);
    EXPECT_EQ(status.counted_restarts(), has_rule ? 1 : 0);
  }
}

TEST(FailurePolicy, AReportTellsOfTheAttemptsBefore) {
  JobProgress progress;
  v1alpha1::JobReport report;
  report.mutable_attempt_started()->set_attempt(3);
  *report.mutable_attempt_started()->add_ended() = ended(2, "RankFailed", false);
  EXPECT_TRUE(add_report(report, kStart, progress));
  ASSERT_EQ(progress.ended.size(), 1U);
  EXPECT_EQ(progress.ended[0].attempt(), 2);
}

TEST(FailurePolicy, AttemptsThatNobodyKnowsOfCostNothing) {
  v1alpha1::JobStatus status = running_status(2);
  count_told_restarts({}, JobProgress{.attempt = 5}, {}, 5, kStart, status);
  EXPECT_EQ(status.attempt(), 5);
  EXPECT_EQ(status.restarts(), 0);
  EXPECT_EQ(status.counted_restarts(), 0);
}

TEST(FailurePolicy, OnlyRestartsOfTheWindowCount) {
  const auto policy = job(R"(, "failurePolicy": {"windowSeconds": 100})").spec.failure_policy();
  v1alpha1::JobStatus status;
  status.set_attempt(1);
  count_restart(policy, {{}, 2}, kStart, status);
  count_restart(policy, {{}, 3}, kStart + 100s, status);
  EXPECT_EQ(status.counted_restarts(), 2);
  EXPECT_EQ(status.restart_window_start(), to_text(kStart));
  count_restart(policy, {{}, 4}, kStart + 101s, status);
  EXPECT_EQ(status.counted_restarts(), 1);
  EXPECT_EQ(status.restart_window_start(), to_text(kStart + 101s));
  EXPECT_EQ(status.restarts(), 3) << "what users see is never set back";
}

// What the coordinator told of attempt 1.
v1alpha1::JobEvent told(const std::string& reason, bool counts = true) {
  v1alpha1::JobEvent event;
  event.set_attempt(1);
  event.set_restarting(true);
  event.set_reason(reason);
  event.set_counts(counts);
  event.set_message("rank 3 died first; it counts against failurePolicy.maxRestarts");
  return event;
}

FailureVerdict judge_told(const v1alpha1::JobEvent& event, const std::string& policy, int used = 0,
                          const std::vector<PodView>& pods = {}) {
  auto status = running_status();
  status.set_counted_restarts(used);
  const JobProgress progress{.attempt = 1, .event = event, .event_at = kStart};
  return judge_report(job(R"(, "failurePolicy": )" + policy).spec, status, progress, pods, kStart,
                      policy::kPatienceInPods);
}

TEST(FailurePolicy, AnAgentThatWasToldToEndByAMachineThatEvictsItsPodCosts) {
  JobProgress progress;
  progress.attempt = 1;
  progress.event = told("Preempted");
  progress.event->set_counts(false);
  progress.event_at = kStart;
  const auto judge = [&](const PodView& pod, TimePoint now) {
    return judge_report(job().spec, running_status(), progress, {running_pod(0), pod}, now,
                        policy::kPatienceInPods);
  };
  EXPECT_EQ(judge(running_pod(1), kStart).course, Course::kGoesOn) << "why it ends is told later";
  PodView evicted = ended_pod(1, 75, kStart + 1s);
  EXPECT_FALSE(judge(evicted, kStart + 1s).counts);
  evicted.evicted = true;
  const FailureVerdict verdict = judge(evicted, kStart + 1s);
  EXPECT_EQ(verdict.course, Course::kRestarts);
  EXPECT_TRUE(verdict.counts);
  EXPECT_EQ(verdict.reason, reasons::kPodLost);
  const FailureVerdict waited = judge(running_pod(1), kStart + 11s);
  EXPECT_EQ(waited.course, Course::kRestarts);
  EXPECT_FALSE(waited.counts);
  EXPECT_FALSE(judge(deleted_pod(1), kStart).counts) << "known at once";
  EXPECT_EQ(judge(deleted_pod(1), kStart).course, Course::kRestarts);
}

TEST(FailurePolicy, RulesForPreemptionHoldForWhatIsToldButNotForPodsThatMove) {
  const std::string policy = R"({"rules": [{"onReason": "Preempted", "action": "Fail"}]})";
  const auto judge = [&](const v1alpha1::JobStatus& status) {
    const JobProgress progress{
        .attempt = status.attempt(), .event = told("Preempted", false), .event_at = kStart};
    JobProgress of_attempt = progress;
    of_attempt.event->set_attempt(status.attempt());
    return judge_report(job(R"(, "failurePolicy": )" + policy).spec, status, of_attempt, {deleted_pod(1)},
                        kStart, policy::kPatienceInPods);
  };
  EXPECT_EQ(judge(running_status()).reason, reasons::kFailurePolicyMatched);
  v1alpha1::JobStatus new_layout = running_status(2);
  new_layout.mutable_memory_correction()->set_attempt(1);
  EXPECT_EQ(judge(new_layout).course, Course::kRestarts);
}

TEST(FailurePolicy, WhileAPodLeavesTheEndOfAnotherIsAwaitedAndJudged) {
  const PodView leaving = deleted_pod(1);
  const auto losses = [&](const PodView& other) {
    return judge_losses(job().spec, running_status(), {other, leaving}, 2, kStart);
  };
  EXPECT_EQ(losses(ended_pod(0, 1, kStart)).look_again, 30s) << "its result may follow";
  EXPECT_EQ(losses(ended_pod(0, 137, kStart)).course, Course::kRestarts);
  const FailureVerdict verdict = judge_told(told("PodLost"), "{}", 0, {running_pod(0), leaving});
  EXPECT_EQ(verdict.course, Course::kGoesOn) << "the pod that was lost may be another";
  EXPECT_EQ(verdict.look_again, 10s);
}

TEST(FailurePolicy, RulesForRanksAreTheCoordinatorsAndTheBudgetIsOurs) {
  const std::string policy = R"({"maxRestarts": 2})";
  const FailureVerdict counted = judge_told(told("OutOfMemory"), policy, 1);
  EXPECT_EQ(counted.course, Course::kRestarts);
  EXPECT_TRUE(counted.counts);
  EXPECT_EQ(counted.reason, reasons::kOutOfMemory);
  EXPECT_EQ(judge_told(told("Bored"), policy).reason, reasons::kRankFailed);
  EXPECT_THAT(counted.message, HasSubstr("restarting (2 of 2 restarts): rank 3 died first"));
  const FailureVerdict over = judge_told(told("RankFailed"), policy, 2);
  EXPECT_EQ(over.reason, reasons::kMaxRestartsReached) << "it does not keep the budget";
  EXPECT_THAT(over.message,
              HasSubstr("2 of 2 restarts are used up (failurePolicy.maxRestarts): rank 3 died"));
  EXPECT_THAT(over.message, Not(HasSubstr("restarting")));
  const FailureVerdict free = judge_told(told("RankFailed", false), policy, 2);
  EXPECT_EQ(free.course, Course::kRestarts);
  EXPECT_FALSE(free.counts);
  EXPECT_THAT(free.message, Not(HasSubstr("of 2 restarts")));
  EXPECT_EQ(judge_told(told("Stalled"), policy).reason, reasons::kStalled);
}

TEST(FailurePolicy, ALostNodeThatTheCoordinatorTellsOfIsJudgedByWhatBecameOfItsPod) {
  const std::string policy =
      R"({"maxRestarts": 0, "rules": [{"onReason": "Preempted", "action": "RestartIgnoringLimit"},
                                      {"onReason": "OutOfMemory", "action": "Fail"}]})";
  PodView preempted = ended_pod(1, 137, kStart);
  preempted.disrupted = true;
  const FailureVerdict free = judge_told(told("PodLost"), policy, 0, {running_pod(0), preempted});
  EXPECT_EQ(free.course, Course::kRestarts);
  EXPECT_FALSE(free.counts);
  EXPECT_EQ(free.reason, reasons::kPreempted);
  PodView starved = ended_pod(1, 137, kStart);
  starved.out_of_memory = true;
  EXPECT_EQ(judge_told(told("PodLost"), policy, 0, {running_pod(0), starved}).reason,
            reasons::kFailurePolicyMatched);
}

TEST(FailurePolicy, ANodeIsLostBeforeTheClusterSaysWhatBecameOfItsPod) {
  const auto spec = job(R"(, "failurePolicy": {"maxRestarts": 0})").spec;
  JobProgress progress{.attempt = 1, .event = told("PodLost"), .event_at = kStart};
  std::vector<PodView> pods{running_pod(0), running_pod(1)};
  const auto judge_at = [&](TimePoint now) {
    return judge_report(spec, running_status(), progress, pods, now, policy::kPatienceInPods);
  };
  const FailureVerdict waiting = judge_at(kStart + 4s);
  EXPECT_EQ(waiting.course, Course::kGoesOn);
  EXPECT_EQ(waiting.look_again, 6s);
  const FailureVerdict silent = judge_at(kStart + 10s);
  EXPECT_EQ(silent.reason, reasons::kMaxRestartsReached) << "its agent is silent and its pod lives";
  EXPECT_THAT(silent.message, HasSubstr("rank 3 died first; not restarted: 0 of 0 restarts"));
  pods[1] = ended_pod(1, 137, kStart);
  EXPECT_EQ(judge_at(kStart).course, Course::kFails) << "its end is known";
  pods[1] = deleted_pod(1);
  pods[1].disrupted = true;
  EXPECT_EQ(judge_at(kStart).course, Course::kGoesOn) << "it may be another that was lost";
  EXPECT_EQ(judge_at(kStart + 10s).reason, reasons::kPreempted) << "nobody else is";
  pods[1] = running_pod(1);
  progress.attempt = 2;
  EXPECT_EQ(judge_at(kStart).course, Course::kFails) << "its agent is back";
}

TEST(FailurePolicy, WhatTheCoordinatorToldBeforeIsNotJudgedAgain) {
  v1alpha1::JobEvent old = told("RankFailed");
  old.set_attempt(0);
  EXPECT_EQ(judge_told(old, "{}").course, Course::kGoesOn);
  v1alpha1::JobEvent last = told("RankFailed");
  last.set_restarting(false);
  EXPECT_EQ(judge_told(last, "{}").course, Course::kGoesOn) << "a result follows";
}

TEST(FailurePolicy, AnAttemptThatIsKnownIsNotCountedAgain) {
  v1alpha1::JobStatus status;
  status.set_attempt(2);
  count_restart({}, {{}, 2}, kStart, status);
  EXPECT_EQ(status.restarts(), 0);
}

TEST(FailurePolicy, OfAgentsThatDoNotJoinOnePodIsMadeAgainOrTheOneThatNobodyFinds) {
  std::vector<PodView> pods{running_pod(0), running_pod(1), running_pod(2)};
  for (PodView& pod : pods) pod.running_since = kStart;
  JobProgress progress;
  EXPECT_EQ(absent_pod(std::nullopt, pods), nullptr);
  EXPECT_EQ(absent_pod(progress, pods), nullptr);
  progress.absence = {.nodes = {2}, .at = kStart + 299s};
  EXPECT_EQ(absent_pod(progress, pods), nullptr) << "it has just begun";
  progress.absence->at = kStart + 300s;
  EXPECT_EQ(absent_pod(progress, pods), &pods[2]);
  progress.absence = {.nodes = {1, 2}, .of_all_others = true, .at = kStart + 300s};
  EXPECT_EQ(absent_pod(progress, pods), &pods[0]);
  pods[1].running_since.reset();
  EXPECT_EQ(absent_pod(progress, pods), &pods[2]) << "node 1 has not started yet";
  pods[2].gone_by = kStart + 400s;
  EXPECT_EQ(absent_pod(progress, pods), nullptr);
}

TEST(FailurePolicy, OfSeveralAgentsThatDoNotJoinOnePodIsMadeAgainAtATime) {
  std::vector<PodView> pods{running_pod(0), running_pod(1), running_pod(2), running_pod(3)};
  for (PodView& pod : pods) pod.running_since = pod.created_at = kStart;
  JobProgress progress;
  progress.absence = {.nodes = {1, 2}, .at = kStart + 300'500ms};
  ASSERT_EQ(absent_pod(progress, pods), &pods[1]);
  for (const int node : {0, 1}) {
    std::vector<PodView> others = pods;
    others.erase(others.begin() + node);
    EXPECT_EQ(absent_pod(progress, others), nullptr) << "the pod of node " << node << " is being made again";
  }
  pods[1].deleted_at = kStart + 298s;  // by the API server's clock
  pods[1].gone_by = kStart + 600s;
  EXPECT_EQ(absent_pod(progress, pods), nullptr) << "it is on its way";
  pods[1] = running_pod(1);
  pods[1].created_at = kStart + 310s;
  EXPECT_EQ(absent_pod(progress, pods), nullptr) << "it may join";
  progress.absence->at = kStart + 700s;
  EXPECT_EQ(absent_pod(progress, pods), &pods[2]) << "told again";
}

}  // namespace
}  // namespace caravan::controller::testing
