// What follows when pods are lost, or the coordinator tells of a failure.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "operator/controller/machine_policy.h"
#include "operator/testing/decisions.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

v1alpha1::JobEvent crash_on_node_1(int attempt) {
  v1alpha1::JobEvent crash;
  crash.set_attempt(attempt);
  crash.set_reason(reasons::kRankFailed);
  crash.set_restarting(true);
  crash.set_counts(true);
  crash.set_suspect_node(1);
  return crash;
}

TEST(Decide, APodMovesAwayFromAMachineThatFailedTwice) {
  Snapshot snapshot = running_job();
  for (const int attempt : {1, 2}) {
    EXPECT_THAT(avoided_machines(snapshot.job.status), IsEmpty());
    snapshot.progress =
        JobProgress{.attempt = attempt, .event = crash_on_node_1(attempt), .event_at = kStart};
    const Decision decision = decide_at(snapshot);
    EXPECT_EQ(condition(decision, conditions::kRestarting).status(), "True");
    const bool moves = attempt == 2;
    EXPECT_EQ(effects_of(decision),
              moves ? std::vector<std::string>{"delete train-1-a1"} : std::vector<std::string>{});
    EXPECT_EQ(decision.notes.back().reason, moves ? reasons::kNodeAvoided : reasons::kRankFailed);
    snapshot.job.status = decision.status;
  }
  EXPECT_THAT(avoided_machines(snapshot.job.status), ElementsAre("machine-1"));
  snapshot.pods[1].gone_by = kStart + 60s;
  EXPECT_THAT(effects_of(decide_at(snapshot)), IsEmpty()) << "it ends";
  snapshot.pods.pop_back();
  EXPECT_THAT(effects_of(decide_at(snapshot)), ElementsAre("create pods/train-1-a3"));
}

TEST(Decide, APodThatItsMachineDoesNotStartIsMadeAgainWhereOthersWaitForIt) {
  Snapshot snapshot = meeting_job();
  snapshot.pods[1].phase = PodPhase::kPending;
  snapshot.pods[1].bound_at = kStart;
  snapshot.job.status = decide_at(snapshot).status;
  const Decision waits = decide_at(snapshot, kStart + 30min - 1s);
  EXPECT_THAT(effects_of(waits), Not(Contains("delete train-1-a1")));
  EXPECT_EQ(waits.look_again, 1s);
  EXPECT_THAT(effects_of(decide_at(snapshot, kStart + 30min)), Contains("delete train-1-a1"));
  Snapshot none_runs = snapshot;
  none_runs.pods[0].phase = PodPhase::kPending;
  EXPECT_THAT(effects_of(decide_at(none_runs, kStart + 24h)), Not(Contains("delete train-1-a1")));

  snapshot.pods[1].deleted_at = kStart + 30min;
  snapshot.pods[1].gone_by = kStart + 31min;
  const Decision made_again = decide_at(snapshot, kStart + 31min + 1s);
  EXPECT_THAT(effects_of(made_again), Contains("create pods/train-1-a2"));
  ASSERT_EQ(made_again.status.failed_machines_size(), 1);
  EXPECT_EQ(made_again.status.failed_machines(0).name(), "machine-1");
  EXPECT_THAT(condition(made_again, conditions::kRestarting).message(),
              HasSubstr("pod train-1-a1 did not start on machine machine-1"));
  EXPECT_EQ(made_again.status.counted_restarts(), 0);
}

// Of node 0 nobody else tells.
TEST(Decide, APodWhoseMachineDiedIsMadeAgainThoughTolerationsKeepItThere) {
  Snapshot snapshot = running_job();
  snapshot.pods[0].silent_since = kStart;
  EXPECT_THAT(effects_of(decide_at(snapshot, kStart + 300s)), IsEmpty()) << "nobody may report its steps";
  EXPECT_THAT(effects_of(decide_at(snapshot, kStart + 30min)), ElementsAre("delete train-0-a1"));
  snapshot.job.status.mutable_progress()->set_last_update_time(to_text(kStart));
  const Decision waits = decide_at(snapshot, kStart + 299s);
  EXPECT_THAT(effects_of(waits), IsEmpty());
  EXPECT_EQ(waits.look_again, 1s);
  EXPECT_THAT(effects_of(decide_at(snapshot, kStart + 300s)), ElementsAre("delete train-0-a1"));
  snapshot.job.status.mutable_progress()->set_last_update_time(to_text(kStart + 200s));
  EXPECT_THAT(effects_of(decide_at(snapshot, kStart + 300s)), IsEmpty()) << "its kubelet alone is away";
}

TEST(Decide, APodWhoseWorkerHasEndedIsMadeAgainThoughASidecarRunsOn) {
  Snapshot snapshot = running_job();
  snapshot.pods[1] = ended_pod(1, 137, kStart);
  snapshot.pods[1].lingers = true;
  const Decision decision = decide_at(snapshot);
  EXPECT_THAT(effects_of(decision), ElementsAre("delete train-1-a1", "create pods/train-1-a2"));
  snapshot.job.status = decision.status;
  snapshot.pods[1].gone_by = kStart + 60s;
  EXPECT_THAT(effects_of(decide_at(snapshot)), ElementsAre("create pods/train-1-a2"))
      << "nothing of it is waited for";
}

TEST(Decide, APodWhoseAgentDoesNotJoinIsMadeAgain) {
  Snapshot snapshot = meeting_job();
  snapshot.progress = JobProgress{};
  snapshot.progress->absence = {
      .nodes = {1}, .at = kStart + 10min, .message = "not joined within 600 s: node 1"};
  snapshot.pods[1].running_since = kStart + 6min;
  const Decision waits = decide_at(snapshot, kStart + 10min);
  EXPECT_THAT(effects_of(waits), Not(Contains("delete train-1-a1"))) << "it has just begun";
  EXPECT_EQ(condition(waits, conditions::kRunning).message(), "the agents meet");
  snapshot.pods[1].running_since = kStart + 5min;
  for (int look = 0; look < 2; ++look) {
    const Decision decision = decide_at(snapshot, kStart + 10min);
    EXPECT_THAT(effects_of(decision), Contains("delete train-1-a1"));
    EXPECT_EQ(condition(decision, conditions::kRunning).message(),
              "the agents meet; not joined within 600 s: node 1");
    ASSERT_EQ(decision.status.failed_machines_size(), 1);
    EXPECT_EQ(decision.status.failed_machines(0).name(), "machine-1");
    EXPECT_EQ(decision.status.failed_machines(0).failures(), 1) << "whose deletion failed is decided again";
    snapshot.job.status = decision.status;
  }
}

TEST(Decide, APodThatWasDrainedAwayWhileNobodyLedCostsNothing) {
  Snapshot snapshot = running_job();
  snapshot.pods.pop_back();
  snapshot.progress.reset();
  snapshot.reported_to_since = kStart;
  const Decision waits = decide_at(snapshot, kStart + 60s);
  EXPECT_THAT(effects_of(waits), IsEmpty());
  EXPECT_EQ(waits.status.attempt(), 1);
  snapshot.progress = JobProgress{.attempt = 1, .event_at = kStart + 60s};
  snapshot.progress->event.emplace().set_attempt(1);
  snapshot.progress->event->set_reason(reasons::kPreempted);
  snapshot.progress->event->set_restarting(true);
  const Decision told = decide_at(snapshot, kStart + 70s);
  EXPECT_THAT(effects_of(told), ElementsAre("create pods/train-1-a2"));
  EXPECT_EQ(told.status.restarts(), 1);
  EXPECT_EQ(told.status.counted_restarts(), 0);
}

TEST(Decide, ADeadPodIsReplacedAloneUnderTheNextAttempt) {
  Snapshot snapshot = running_job();
  snapshot.pods[1] = ended_pod(1, 137, kStart);
  const Decision decision = decide_at(snapshot);
  EXPECT_THAT(effects_of(decision), ElementsAre("delete train-1-a1", "create pods/train-1-a2"));
  EXPECT_EQ(decision.status.restarts(), 1);
  EXPECT_EQ(decision.status.state(), "Restarting");
}

// Whether it was made before its agent fell silent.
TEST(Decide, ASilentPodIsJudgedByThePatienceThatTheAgentsWereGiven) {
  Snapshot snapshot = running_job();
  snapshot.job.status.set_attempt(5);
  for (const int attempt : {2, 4}) note_failure("bad", attempt, snapshot.job.status);
  snapshot.pods[1].created_at = kStart - 15s;
  v1alpha1::JobEvent lost = crash_on_node_1(5);
  lost.set_reason(reasons::kPodLost);
  snapshot.progress = JobProgress{.attempt = 5, .event = lost, .event_at = kStart};
  const auto counted_with = [&](std::chrono::seconds agent_patience) {
    Settings given = settings();
    given.agent_patience = agent_patience;
    return decide(snapshot, given, kStart + 10s).status.counted_restarts();
  };
  EXPECT_EQ(counted_with(20s), 0) << "pods move away, which costs no restart";
  EXPECT_EQ(counted_with(5s), 1);
}

// A year later, or made by an operator that issued one certificate for all.
TEST(Decide, APodThatNeedsNewCertificatesBringsThemToTheWholeGang) {
  Snapshot old = running_job();
  old.pods[1] = ended_pod(1, 137, kStart);
  Snapshot foreign = old;
  foreign.job.status.clear_certificates();
  const auto whole_gang =
      ElementsAre("create certificates", "delete train-1-a1", "delete train-0-a1", "create pods/train-1-a2");
  EXPECT_THAT(effects_of(decide_at(old, kStart + 366 * 24h)), whole_gang);
  EXPECT_THAT(effects_of(decide_at(foreign)), whole_gang);
}

TEST(Decide, PodsWithOtherCertificatesThanNewOnesAreReplacedWithThem) {
  Snapshot snapshot = running_job();
  snapshot.pods[0].certificates = "of before";
  EXPECT_THAT(effects_of(decide_at(snapshot)), IsEmpty()) << "those that run know each other";
  snapshot.pods[1] = ended_pod(1, 137, kStart);
  EXPECT_THAT(effects_of(decide_at(snapshot)),
              ElementsAre("delete train-1-a1", "delete train-0-a1", "create pods/train-1-a2"));
}

TEST(Decide, ADeletedPodIsReplacedWhenItsGraceIsOver) {
  Snapshot snapshot = running_job();
  snapshot.pods[0].gone_by = kStart + 60s;
  const Decision waiting = decide_at(snapshot);
  EXPECT_THAT(effects_of(waiting), IsEmpty());
  EXPECT_EQ(waiting.status.restarts(), 0);
  EXPECT_THAT(condition(waiting, conditions::kScheduled).message(),
              HasSubstr("pod train-0-a1: it is being deleted, and ends by " + to_text(kStart + 60s)));
  snapshot.job.status = waiting.status;
  const Decision over = decide_at(snapshot, kStart + 61s);
  EXPECT_THAT(effects_of(over), ElementsAre("create pods/train-0-a2"));
  EXPECT_EQ(over.status.restarts(), 1);
}

TEST(Decide, APodOfADeadMachineIsMadeAgainSoonSinceNothingIsLeftToSave) {
  Snapshot snapshot = running_job();
  v1alpha1::JobEvent& event = snapshot.progress->event.emplace();
  event.set_attempt(1);
  event.set_restarting(true);
  event.set_reason(reasons::kPodLost);
  snapshot.progress->event_at = kStart;
  snapshot.job.status = decide_at(snapshot, kStart + 10s).status;
  ASSERT_EQ(snapshot.job.status.state(), "Restarting");
  snapshot.pods[1].deleted_at = kStart + 340s;  // whoever watches nodes has given it up
  snapshot.pods[1].gone_by = kStart + 640s;
  const Decision waiting = decide_at(snapshot, kStart + 369s);
  EXPECT_THAT(effects_of(waiting), IsEmpty());
  EXPECT_EQ(waiting.look_again, 1s);
  EXPECT_THAT(effects_of(decide_at(snapshot, kStart + 370s)), ElementsAre("create pods/train-1-a2"));
}

TEST(Decide, APodThatDiesAgainAndAgainIsReplacedLaterEachTime) {
  Snapshot snapshot = running_job();
  snapshot.progress.reset();
  snapshot.pods[1] = ended_pod(1, 137, kStart);
  snapshot.job.status = decide_at(snapshot).status;
  snapshot.pods[1] = ended_pod(1, 137, kStart + 10s, 2);
  snapshot.pods[1].created_at = kStart;
  const Decision waiting = decide_at(snapshot, kStart + 10s);
  EXPECT_THAT(effects_of(waiting), IsEmpty());
  EXPECT_EQ(waiting.look_again, 500ms);
  EXPECT_EQ(waiting.status.restarts(), 2);
  snapshot.job.status = waiting.status;
  EXPECT_THAT(effects_of(decide_at(snapshot, kStart + 10s + 500ms)),
              ElementsAre("delete train-1-a2", "create pods/train-1-a3"));
}

// Attempt `number` is told of and makes a step; after `lasted` the pod of node 0 dies, and its coordinator
// with it.
Decision lose_node_zero_after_a_step(Snapshot& snapshot, int number, TimePoint start,
                                     std::chrono::seconds lasted) {
  snapshot.pods[0] = running_pod(0, number);
  snapshot.progress = JobProgress{
      .attempt = number, .short_attempts = snapshot.job.status.short_attempts(), .step = v1alpha1::JobStep()};
  snapshot.job.status = decide_at(snapshot, start).status;
  snapshot.pods[0] = ended_pod(0, 137, start + lasted, number);
  snapshot.pods[0].out_of_memory = true;
  return decide_at(snapshot, start + lasted);
}

constexpr char kIgnoreLostMemory[] =
    R"(, "failurePolicy": {"rules": [{"onReason": "OutOfMemory", "action": "RestartIgnoringLimit"}]})";

TEST(Decide, APodThatDiesSoonAfterEveryFirstStepIsReplacedLaterEachTime) {
  Snapshot snapshot = running_job(kIgnoreLostMemory);
  TimePoint start = kStart;
  int attempt = 1;
  for (const auto pause : {0ms, 500ms, 1000ms, 2000ms}) {
    const Decision lost = lose_node_zero_after_a_step(snapshot, attempt, start, 3s);
    EXPECT_EQ(lost.status.short_attempts(), attempt);
    EXPECT_EQ(lost.look_again.value_or(0ms), pause) << "after attempt " << attempt;
    snapshot.job.status = lost.status;
    start += 3s + pause;
    EXPECT_THAT(effects_of(decide_at(snapshot, start)),
                ElementsAre(fmt::format("delete train-0-a{}", attempt),
                            fmt::format("create pods/train-0-a{}", attempt + 1)));
    ++attempt;
  }
  const Decision healthy = lose_node_zero_after_a_step(snapshot, attempt, start, 600s);
  EXPECT_EQ(healthy.status.short_attempts(), 0);
  EXPECT_FALSE(healthy.look_again);
}

TEST(Decide, ARowOfShortAttemptsIsTheOneThatTheCoordinatorTellsOf) {
  Snapshot snapshot = running_job();
  snapshot.progress = JobProgress{.attempt = 7, .short_attempts = 6, .step = v1alpha1::JobStep()};
  snapshot.job.status = decide_at(snapshot).status;
  EXPECT_EQ(snapshot.job.status.short_attempts(), 6);
  snapshot.progress->short_attempts.reset();  // an agent that does not know it
  snapshot.pods[0].gone_by = kStart;
  EXPECT_EQ(decide_at(snapshot, kStart + 61s).status.short_attempts(), 7);
}

TEST(Decide, ASuspensionEndsARowOfShortAttempts) {
  Snapshot snapshot = running_job();
  snapshot.job.status.set_short_attempts(6);
  snapshot.job.spec.set_suspend(true);
  EXPECT_FALSE(decide_at(snapshot).status.has_short_attempts());
}

TEST(Decide, ANewPodOfNodeZeroKnowsHowOftenTheGangWasRestarted) {
  Snapshot snapshot = running_job();
  snapshot.job.status.set_restarts(5);
  snapshot.pods[0].gone_by = kStart;
  const Decision late = decide_at(snapshot, kStart + 100s);
  ASSERT_THAT(effects_of(late), ElementsAre("create pods/train-0-a2"));
  EXPECT_EQ(late.status.restarts(), 6) << "as its agent is told";
}

TEST(Decide, ARestartWindowThatIsOverCountsNoMore) {
  Snapshot snapshot = running_job(R"(, "failurePolicy": {"maxRestarts": 2, "windowSeconds": 60})");
  snapshot.job.status.set_counted_restarts(2);
  snapshot.job.status.set_restart_window_start(to_text(kStart));
  snapshot.pods[0].gone_by = kStart;
  EXPECT_EQ(decide_at(snapshot, kStart + 60s).status.state(), "Failed");
  const Decision late = decide_at(snapshot, kStart + 61s);
  EXPECT_EQ(late.status.state(), "Restarting");
  EXPECT_EQ(late.status.counted_restarts(), 1);
}

TEST(Decide, AFailureThatTheCoordinatorTellsOfBecomesTheNextAttemptOnce) {
  Snapshot snapshot = running_job();
  snapshot.progress->event.emplace();
  snapshot.progress->event->set_attempt(1);
  snapshot.progress->event->set_restarting(true);
  snapshot.progress->event->set_counts(true);
  snapshot.progress->event->set_reason("OutOfMemory");
  for (int i = 0; i < 2; ++i) snapshot.job.status = decide_at(snapshot).status;
  EXPECT_EQ(snapshot.job.status.attempt(), 2);
  EXPECT_EQ(snapshot.job.status.restarts(), 1);
  EXPECT_EQ(snapshot.job.status.counted_restarts(), 1);
  EXPECT_EQ(condition(decide_at(snapshot), conditions::kRestarting).reason(), reasons::kOutOfMemory);
  EXPECT_EQ(snapshot.job.status.state(), "Restarting");
  snapshot.progress->attempt = 2;
  snapshot.job.status = decide_at(snapshot).status;
  EXPECT_EQ(snapshot.job.status.state(), "Running");
  EXPECT_EQ(snapshot.job.status.restarts(), 1);
}

// As after the first failure, which no pause follows, and after a change of the leader.
TEST(Decide, ARestartIsToldThoughTheNextAttemptIsHeardOfAtTheSameTime) {
  Snapshot snapshot = running_job();
  v1alpha1::JobEvent& event = snapshot.progress->event.emplace();
  event.set_attempt(1);
  event.set_restarting(true);
  event.set_counts(true);
  event.set_reason(reasons::kSilentCorruption);
  snapshot.progress->attempt = 2;
  const Decision told = decide_at(snapshot);
  EXPECT_EQ(told.status.state(), "Restarting");
  EXPECT_EQ(told.notes.back().reason, reasons::kSilentCorruption);
  EXPECT_EQ(told.look_again, 1ms);
  snapshot.job.status = told.status;
  const Decision followed = decide_at(snapshot);
  EXPECT_EQ(followed.status.state(), "Running");
  EXPECT_EQ(followed.status.restarts(), 1);
}

TEST(Decide, ARestartThatIsHeardOfLateMovesNoPodOfTheAttemptThatTrainsSince) {
  Snapshot snapshot = running_job();
  for (const int attempt : {1, 2}) {
    snapshot.progress =
        JobProgress{.attempt = attempt, .event = crash_on_node_1(attempt), .event_at = kStart};
    if (attempt == 2) {
      snapshot.progress->attempt = 3;
      snapshot.progress->step.emplace().set_attempt(3);
    }
    const Decision decision = decide_at(snapshot);
    EXPECT_THAT(effects_of(decision), IsEmpty()) << "attempt " << attempt;
    snapshot.job.status = decision.status;
  }
  EXPECT_THAT(avoided_machines(snapshot.job.status), ElementsAre("machine-1"));
  EXPECT_THAT(effects_of(decide_at(snapshot)), IsEmpty()) << "it makes steps";
}

TEST(Decide, ALostNodeIsJudgedByTheEndOfItsPodThatIsKnownLater) {
  Snapshot snapshot = running_job();
  snapshot.job.spec.mutable_failure_policy()->add_rules_list()->set_on_reason(reasons::kOutOfMemory);
  snapshot.job.spec.mutable_failure_policy()->mutable_rules_list(0)->set_action(v1alpha1::FailureRule::Fail);
  snapshot.progress->event.emplace();
  snapshot.progress->event->set_attempt(1);
  snapshot.progress->event->set_restarting(true);
  snapshot.progress->event->set_reason(reasons::kPodLost);
  snapshot.progress->event_at = kStart;
  const Decision waiting = decide_at(snapshot, kStart);
  EXPECT_EQ(waiting.look_again, 10s);
  EXPECT_EQ(waiting.status.attempt(), 1);
  snapshot.job.status = waiting.status;
  snapshot.pods[1] = ended_pod(1, 137, kStart + 2s);
  snapshot.pods[1].out_of_memory = true;
  EXPECT_EQ(condition(decide_at(snapshot, kStart + 2s), conditions::kFailed).reason(),
            reasons::kFailurePolicyMatched);
}

TEST(Decide, APodThatItsMachineRejectsAgainAndAgainDoesNotBurnTheBudgetAtOnce) {
  Snapshot snapshot = running_job();
  snapshot.progress.reset();
  snapshot.pods[1] = ended_pod(1, 137, kStart);
  snapshot.job.status = decide_at(snapshot).status;
  PodView rejected = running_pod(1, 2);
  rejected.phase = PodPhase::kFailed;
  rejected.created_at = kStart;
  rejected.last_words = "Pod was rejected: Node didn't have enough resource: cpu";
  snapshot.pods[1] = rejected;
  const Decision waiting = decide_at(snapshot);
  EXPECT_THAT(effects_of(waiting), IsEmpty());
  EXPECT_EQ(waiting.look_again, 500ms);
  EXPECT_THAT(condition(waiting, conditions::kRestarting).message(), HasSubstr("enough resource"));
}

}  // namespace
}  // namespace caravan::controller::testing
