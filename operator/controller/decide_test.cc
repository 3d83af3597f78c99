// The decision as a whole: what each situation of a job leads to.
#include "operator/controller/decide.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "operator/api/cancellation.h"
#include "operator/api/conditions.h"
#include "operator/children/plan_object.h"
#include "operator/controller/machine_policy.h"
#include "operator/testing/jobs.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// "create pods/train-0-a1", "delete train-0-a1", ...
std::vector<std::string> effects_of(const Decision& decision) {
  struct Name {
    int attempt;
    std::string operator()(const CreateChild& e) const {
      return fmt::format("create {}/{}", e.resource.plural, kube::key_of(e.object).name);
    }
    std::string operator()(const ApplyChild& e) const {
      return fmt::format("apply {}/{}", e.resource.plural, kube::key_of(e.object).name);
    }
    std::string operator()(const MergeStatus& e) const {
      return fmt::format("merge status of {}/{}", e.resource.plural, e.name);
    }
    std::string operator()(const DeleteChild& e) const {
      return fmt::format("delete {}/{}", e.resource.plural, e.name);
    }
    std::string operator()(const CreatePod& e) const {
      return fmt::format("create pods/train-{}-a{}", e.node, attempt);
    }
    std::string operator()(const DeletePod& e) const { return "delete " + e.name; }
    std::string operator()(const DeleteJob&) const { return "delete the job"; }
    std::string operator()(const AskForCheckpoint& e) const { return "ask for a checkpoint " + e.request; }
  };
  std::vector<std::string> names;
  if (decision.new_certificates) names.emplace_back("create certificates");
  for (const Effect& effect : decision.effects)
    names.push_back(std::visit(Name{decision.status.attempt()}, effect));
  return names;
}

// Reasons of the events that follow from effects.
std::vector<std::string> told_when_done(const Decision& decision) {
  std::vector<std::string> reasons;
  const auto notes_of = [](const auto& effect) -> std::vector<Note> {
    if constexpr (requires { effect.notes; }) return effect.notes;
    return {};
  };
  for (const Effect& effect : decision.effects) {
    for (const Note& note : std::visit(notes_of, effect)) reasons.push_back(note.reason);
  }
  return reasons;
}

Snapshot new_job(const std::string& spec_more = "") {
  return {.job = job(spec_more)};
}

// What the decision writes into the plan's ConfigMap.
const kube::Json* written_plan(const Decision& decision) {
  for (const Effect& effect : decision.effects) {
    if (const auto* made = std::get_if<CreateChild>(&effect); made && made->resource == kConfigMaps)
      return &made->object;
    if (const auto* made = std::get_if<ApplyChild>(&effect)) return &made->object;
  }
  return nullptr;
}

// With everything made, both pods running, in its first attempt.
Snapshot running_job(const std::string& spec_more = "") {
  Snapshot snapshot = new_job(spec_more);
  Decision first = decide(snapshot, settings(), kStart);
  if (const kube::Json* plan = written_plan(first))
    snapshot.plan = {.uid = "plan", .fingerprint = fingerprint_of(*plan), .written = fingerprint_of(*plan)};
  snapshot.has_service = snapshot.has_account = snapshot.has_network_policy = true;
  snapshot.pods = {running_pod(0), running_pod(1)};
  snapshot.progress = JobProgress{.attempt = 1};
  snapshot.job.status = first.status;
  snapshot.job.status.mutable_certificates()->set_set(kCertificates);
  snapshot.job.status.mutable_certificates()->set_issue_time(to_text(kStart));
  snapshot.job.status = decide(snapshot, settings(), kStart).status;
  return snapshot;
}

Decision decide_at(const Snapshot& snapshot, TimePoint now = kStart) {
  return decide(snapshot, settings(), now);
}

const v1alpha1::Condition& condition(const Decision& decision, const char* type) {
  static const v1alpha1::Condition kNone;
  const auto* found = find_condition(decision.status, type);
  return found == nullptr ? kNone : *found;
}

TEST(Decide, ANewJobGetsItsPlanThenItsChildrenCertificatesFirst) {
  const Decision decision = decide_at(new_job());
  EXPECT_THAT(effects_of(decision), ElementsAre("create certificates", "create serviceaccounts/train",
                                                "create networkpolicies/train", "create services/train",
                                                "create configmaps/train-plan", "create pods/train-0-a1",
                                                "create pods/train-1-a1"));
  EXPECT_EQ(condition(decision, conditions::kPlanned).status(), "True");
  EXPECT_EQ(decision.status.layout(), "TP1 PP1 DP4");
  EXPECT_EQ(decision.status.attempt(), 1);
}

TEST(Decide, EachNewValueOfTheAnnotationAsksForACheckpointUntilItIsAnswered) {
  Snapshot snapshot = running_job(R"(, "checkpoint": {"path": "mine", "claimName": "c"})");
  const auto asks = [&] {
    const Decision decision = decide_at(snapshot);
    snapshot.job.status = decision.status;
    std::vector<std::string> asked;
    for (const std::string& effect : effects_of(decision))
      if (effect.starts_with("ask for a checkpoint ")) asked.push_back(effect.substr(21));
    return asked;
  };
  snapshot.job.uid = "uid";
  EXPECT_THAT(asks(), IsEmpty());
  snapshot.job.checkpoint_request = "before the upgrade";
  EXPECT_THAT(asks(), IsEmpty()) << "the ranks start";
  snapshot.progress->step.emplace().set_step(1);
  EXPECT_THAT(asks(), ElementsAre("uid/before the upgrade"));
  EXPECT_EQ(snapshot.job.status.checkpoint_request(), "");
  EXPECT_THAT(asks(), ElementsAre("uid/before the upgrade")) << "whoever was asked may be gone";

  snapshot.progress->answered_request = "other/before the upgrade";
  EXPECT_THAT(asks(), ElementsAre("uid/before the upgrade")) << "that was another job's";
  snapshot.progress->answered_request = "uid/before the upgrade";
  EXPECT_THAT(asks(), IsEmpty());
  EXPECT_EQ(snapshot.job.status.checkpoint_request(), "before the upgrade");
  snapshot.progress->answered_request.clear();
  EXPECT_THAT(asks(), IsEmpty()) << "an operator that took over has the status alone";

  snapshot.job.checkpoint_request = "and again";
  EXPECT_THAT(asks(), ElementsAre("uid/and again"));
  snapshot.job.checkpoint_request = std::string(257, 'x');
  EXPECT_THAT(asks(), IsEmpty()) << "longer than the status remembers";
}

TEST(Decide, AnAnswerThatComesWithTheEndOfTheJobOrItsSuspensionIsRemembered) {
  Snapshot snapshot = running_job(R"(, "checkpoint": {"path": "mine", "claimName": "c"})");
  snapshot.job.uid = "uid";
  snapshot.job.checkpoint_request = "now";
  snapshot.progress->step.emplace().set_step(1);
  ASSERT_THAT(effects_of(decide_at(snapshot)), Contains("ask for a checkpoint uid/now"));
  snapshot.progress->answered_request = "uid/now";
  Snapshot suspended = snapshot;
  suspended.job.spec.set_suspend(true);
  EXPECT_EQ(decide_at(suspended).status.checkpoint_request(), "now");
  Snapshot ended = snapshot;
  ended.progress->result.emplace().set_result("Complete");
  EXPECT_EQ(decide_at(ended).status.checkpoint_request(), "now");
}

TEST(Decide, OnlyWhatIsNewsBecomesAnEvent) {
  const auto told = [](const Decision& decision) {
    std::vector<std::string> reasons;
    for (const Note& note : decision.notes) reasons.push_back(note.reason);
    return reasons;
  };
  EXPECT_THAT(told(decide_at(new_job())), ElementsAre(reasons::kHeuristicSelected)) << "pods wait at first";
  Snapshot snapshot = running_job();
  snapshot.pods[0].gone_by = kStart - 1s;
  EXPECT_THAT(told(decide_at(snapshot)), ElementsAre(reasons::kWaitingForPods, reasons::kPodLost));
}

TEST(Decide, ARunningJobIsLeftInPeace) {
  const Snapshot snapshot = running_job();
  EXPECT_EQ(snapshot.job.status.state(), "Running");
  const Decision decision = decide_at(snapshot);
  EXPECT_THAT(effects_of(decision), IsEmpty());
  EXPECT_EQ(text_of(decision.status), text_of(snapshot.job.status));
  EXPECT_THAT(decision.notes, IsEmpty());
}

TEST(Decide, APodMovesAwayFromAMachineThatFailedTwice) {
  Snapshot snapshot = running_job();
  v1alpha1::JobEvent crash;
  crash.set_reason(reasons::kRankFailed);
  crash.set_restarting(true);
  crash.set_counts(true);
  crash.set_suspect_node(1);
  for (const int attempt : {1, 2}) {
    EXPECT_THAT(avoided_machines(snapshot.job.status), IsEmpty());
    crash.set_attempt(attempt);
    snapshot.progress = JobProgress{.attempt = attempt, .event = crash, .event_at = kStart};
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

TEST(Decide, AStragglerIsShownUntilTheNextAttempt) {
  Snapshot snapshot = running_job();
  v1alpha1::JobEvent slow;
  slow.set_reason(reasons::kStraggler);
  slow.set_attempt(1);
  slow.set_message("rank 1 is slow");
  snapshot.progress->stragglers = {slow};
  Decision decision = decide_at(snapshot);
  EXPECT_EQ(condition(decision, conditions::kStraggling).status(), "True");
  EXPECT_EQ(condition(decision, conditions::kStraggling).message(), "rank 1 is slow");
  ASSERT_EQ(decision.notes.size(), 1U);
  EXPECT_EQ(decision.notes[0].reason, reasons::kStraggler);
  EXPECT_EQ(decision.notes[0].type, kube::EventType::kWarning);
  EXPECT_THAT(effects_of(decision), IsEmpty());
  EXPECT_EQ(decision.status.restarts(), 0);
  EXPECT_EQ(decision.status.state(), "Running");
  snapshot.job.status = decision.status;
  EXPECT_THAT(decide_at(snapshot).notes, IsEmpty()) << "told once";
  slow.set_message("rank 3 is slow");
  snapshot.progress->stragglers.push_back(slow);
  decision = decide_at(snapshot);
  EXPECT_EQ(condition(decision, conditions::kStraggling).message(), "rank 3 is slow; rank 1 is slow");
  EXPECT_EQ(decision.notes.size(), 1U);
  snapshot.job.status = decision.status;
  snapshot.progress = JobProgress{.attempt = 2};
  EXPECT_EQ(condition(decide_at(snapshot), conditions::kStraggling).status(), "False");
}

TEST(Decide, PodsThatAreMadeChangeTheStatusOnlyWhenTheyHaveAMachine) {
  Snapshot snapshot = running_job();
  snapshot.progress.reset();
  snapshot.job.status = decide_at(new_job()).status;
  for (PodView& pod : snapshot.pods) pod.machine.clear();
  EXPECT_EQ(text_of(decide_at(snapshot).status), text_of(snapshot.job.status)) << "a write per job saved";
  snapshot.pods[0].machine = "machine-0";
  EXPECT_EQ(condition(decide_at(snapshot), conditions::kScheduled).message(), "1 of 2 pods have a machine");
}

TEST(Decide, ADeadPodIsReplacedAloneUnderTheNextAttempt) {
  Snapshot snapshot = running_job();
  snapshot.pods[1] = ended_pod(1, 137, kStart);
  const Decision decision = decide_at(snapshot);
  EXPECT_THAT(effects_of(decision), ElementsAre("delete train-1-a1", "create pods/train-1-a2"));
  EXPECT_EQ(decision.status.restarts(), 1);
  EXPECT_EQ(decision.status.state(), "Restarting");
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

TEST(Decide, AJobThatCannotBePlannedNowCanStillBeSuspendedAndStillEnds) {
  Snapshot snapshot = running_job();
  snapshot.job.status.mutable_plan()->set_document("damaged");
  snapshot.job.spec.set_suspend(true);
  const Decision suspended = decide_at(snapshot);
  EXPECT_EQ(condition(suspended, conditions::kPlanned).status(), "False");
  EXPECT_THAT(effects_of(suspended), ElementsAre("delete train-0-a1", "delete train-1-a1"));
  EXPECT_EQ(suspended.status.state(), "Suspended");
  snapshot.progress->result.emplace();
  snapshot.progress->result->set_result("Complete");
  EXPECT_EQ(decide_at(snapshot).status.state(), "Complete");
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
  EXPECT_EQ(condition(decide_at(snapshot), conditions::kRestarting).reason(), reasons::kRankFailed);
  EXPECT_EQ(snapshot.job.status.state(), "Restarting");
  snapshot.progress->attempt = 2;
  snapshot.job.status = decide_at(snapshot).status;
  EXPECT_EQ(snapshot.job.status.state(), "Running");
  EXPECT_EQ(snapshot.job.status.restarts(), 1);
}

v1alpha1::MemoryShortage threefold_activations() {
  v1alpha1::MemoryShortage shortage;
  shortage.set_term("activations");
  shortage.set_planned_bytes(100);
  shortage.set_used_bytes(300);
  return shortage;
}

// Of the attempt that runs, as the coordinator tells of it.
void run_out_of_memory(Snapshot& snapshot, int attempt) {
  v1alpha1::JobEvent event;
  event.set_attempt(attempt);
  event.set_reason(reasons::kOutOfMemory);
  event.set_message("rank 1 died first");
  event.set_restarting(true);
  event.set_counts(true);
  *event.mutable_shortage() = threefold_activations();
  snapshot.progress = JobProgress{.attempt = attempt, .event = event, .event_at = kStart};
}

// The decision is carried out, and what it deletes is gone.
void carry_out(const Decision& decision, Snapshot& snapshot) {
  snapshot.job.status = decision.status;
  if (const kube::Json* plan = written_plan(decision))
    snapshot.plan = {.uid = "plan", .fingerprint = fingerprint_of(*plan), .written = fingerprint_of(*plan)};
  for (const Effect& effect : decision.effects) {
    if (const auto* gone = std::get_if<DeletePod>(&effect))
      std::erase_if(snapshot.pods, [&](const PodView& pod) { return pod.name == gone->name; });
    if (const auto* made = std::get_if<CreatePod>(&effect))
      snapshot.pods.push_back(running_pod(made->node, decision.status.attempt()));
  }
}

TEST(Decide, AJobWhoseRankRanOutOfMemoryGoesOnWithTheNextLayoutInNewPods) {
  Snapshot snapshot = running_job();
  const std::string first_plan = snapshot.job.status.plan().document();
  run_out_of_memory(snapshot, 1);
  const Decision decision = decide_at(snapshot);
  EXPECT_EQ(decision.status.memory_correction().term(), "activations");
  EXPECT_EQ(decision.status.memory_correction().percent(), 300);
  EXPECT_EQ(decision.status.memory_correction().attempt(), 1);
  EXPECT_NE(decision.status.plan().document(), first_plan);
  EXPECT_EQ(decision.status.attempt(), 2);
  EXPECT_EQ(decision.status.state(), "Restarting");
  EXPECT_THAT(effects_of(decision),
              ElementsAre("create configmaps/train-plan-a2", "delete train-0-a1", "delete train-1-a1"));
  EXPECT_THAT(told_when_done(decision), IsEmpty()) << "it is the operator that has changed the plan";
  EXPECT_THAT(condition(decision, conditions::kRestarting).message(),
              AllOf(HasSubstr("activations took 300 % of what was planned, so the layout is "),
                    HasSubstr(" from now on, in place of TP1 PP1 DP4; rank 1 died first")));
  EXPECT_THAT(condition(decision, conditions::kPlanned).message(),
              HasSubstr("Planned again with activations at 300 % of what was predicted"));

  carry_out(decision, snapshot);
  const Decision next = decide_at(snapshot);
  EXPECT_THAT(effects_of(next), ElementsAre("create pods/train-0-a2", "create pods/train-1-a2"));
  EXPECT_EQ(next.status.plan().document(), decision.status.plan().document());
  carry_out(next, snapshot);
  snapshot.progress = JobProgress{.attempt = 2, .event = snapshot.progress->event, .event_at = kStart};
  const Decision running = decide_at(snapshot);
  EXPECT_THAT(effects_of(running), IsEmpty());
  EXPECT_EQ(running.status.state(), "Running");
  EXPECT_EQ(running.status.restarts(), 1);
}

TEST(Decide, ASecondLackOfMemoryIsARestartLikeOthers) {
  Snapshot snapshot = running_job();
  for (int attempt = 1; attempt <= 2; ++attempt) {
    run_out_of_memory(snapshot, attempt);
    carry_out(decide_at(snapshot), snapshot);
    carry_out(decide_at(snapshot), snapshot);
  }
  EXPECT_EQ(snapshot.job.status.attempt(), 3);
  EXPECT_EQ(snapshot.job.status.memory_correction().attempt(), 1);
  EXPECT_THAT(find_condition(snapshot.job.status, conditions::kRestarting)->message(),
              Not(HasSubstr("layout")));
  ASSERT_EQ(snapshot.pods.size(), 2U);
  for (const PodView& pod : snapshot.pods) EXPECT_EQ(pod.attempt, 2) << "they stay";
}

TEST(Decide, WhereNoOtherLayoutFitsTheLayoutStaysAndSoDoThePods) {
  Snapshot snapshot = running_job(
      R"(, "parallelism": {"mode": "Manual", "tensor": 1, "pipeline": 1, "data": 4, "microBatchSize": 1,
          "schedule": "1F1B", "activationCheckpointing": "Always"})");
  const std::string first_plan = snapshot.job.status.plan().document();
  run_out_of_memory(snapshot, 1);
  const Decision decision = decide_at(snapshot);
  EXPECT_THAT(effects_of(decision), IsEmpty());
  EXPECT_EQ(decision.status.plan().document(), first_plan);
  EXPECT_EQ(decision.status.attempt(), 2);
  EXPECT_EQ(decision.status.memory_correction().percent(), 300);
  EXPECT_FALSE(decision.status.memory_correction().has_attempt());
  EXPECT_THAT(condition(decision, conditions::kRestarting).message(),
              AllOf(HasSubstr("activations took 300 % of what was planned, but the layout stays"),
                    HasSubstr("the job does not fit"), HasSubstr("rank 1 died first")));
}

TEST(Decide, AShortageThatWasToldWithTheNextAttemptCountsUntilThatMakesSteps) {
  Snapshot snapshot = running_job();
  v1alpha1::EndedAttempt ended;
  ended.set_attempt(1);
  ended.set_reason(reasons::kOutOfMemory);
  ended.set_counts(true);
  *ended.mutable_shortage() = threefold_activations();
  snapshot.progress = JobProgress{.attempt = 2, .ended = {ended}};
  const Decision missed = decide_at(snapshot);
  EXPECT_EQ(missed.status.memory_correction().attempt(), 1);
  EXPECT_THAT(effects_of(missed),
              ElementsAre("create configmaps/train-plan-a2", "delete train-0-a1", "delete train-1-a1"));
  EXPECT_EQ(missed.status.state(), "Restarting");

  snapshot.progress->step = v1alpha1::JobStep();
  const Decision going_on = decide_at(snapshot);
  EXPECT_FALSE(going_on.status.has_memory_correction());
  EXPECT_THAT(effects_of(going_on), IsEmpty());
}

TEST(Decide, PodsThatAreMadeAgainForAnotherLayoutCostNoRestart) {
  Snapshot snapshot = running_job();
  v1alpha1::EndedAttempt ended;
  ended.set_attempt(1);
  ended.set_reason(reasons::kOutOfMemory);
  *ended.mutable_shortage() = threefold_activations();
  snapshot.progress = JobProgress{.attempt = 2, .ended = {ended}};
  snapshot.job.status = decide_at(snapshot).status;
  for (PodView& pod : snapshot.pods) pod.gone_by = kStart + 60s;
  v1alpha1::JobEvent lost;
  lost.set_attempt(2);
  lost.set_reason(reasons::kPodLost);
  lost.set_restarting(true);
  lost.set_counts(true);
  snapshot.progress->event = lost;
  snapshot.progress->event_at = kStart;
  const Decision decision = decide_at(snapshot, kStart + 61s);
  EXPECT_EQ(decision.status.attempt(), 3);
  EXPECT_EQ(decision.status.counted_restarts(), 0);
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
  EXPECT_THAT(condition(waiting, conditions::kRestarting).message(), ::testing::HasSubstr("enough resource"));
}

TEST(Decide, AResultThatCameBeforeTheSuspensionEndsTheJob) {
  Snapshot snapshot = running_job();
  snapshot.job.spec.set_suspend(true);
  snapshot.progress->result.emplace();
  snapshot.progress->result->set_result("Complete");
  const Decision decision = decide_at(snapshot);
  EXPECT_EQ(decision.status.state(), "Complete");
  EXPECT_THAT(effects_of(decision), IsEmpty());
}

TEST(Decide, AnEndWithoutAReportShowsTheLastStepFromThePodsLastWords) {
  Snapshot snapshot = running_job();
  snapshot.progress.reset();
  snapshot.pods[0] = ended_pod(0, 0, kStart);
  snapshot.pods[0].last_words = R"({"result": "Complete", "lastStep": {"step": 100, "loss": 2.5}})";
  const Decision decision = decide_at(snapshot);
  EXPECT_EQ(decision.status.state(), "Complete");
  EXPECT_EQ(decision.status.progress().percent(), 100);
  EXPECT_EQ(decision.status.progress().loss(), "2.5");
}

TEST(Decide, RestartsThatNobodyToldOfStandInTheResult) {
  Snapshot snapshot = running_job();
  snapshot.progress.reset();
  snapshot.pods[0] = ended_pod(0, 0, kStart);
  snapshot.pods[0].last_words = R"({"result": "Complete", "restarts": 2})";
  EXPECT_EQ(decide_at(snapshot).status.restarts(), 2);
  snapshot.job.status.set_restarts(3);
  EXPECT_EQ(decide_at(snapshot).status.restarts(), 3) << "some were before this coordinator, and not counted";
}

TEST(Decide, APodThatIsDoneBeforeTheOthersStillCountsAsPlaced) {
  Snapshot snapshot = running_job();
  snapshot.pods[1] = ended_pod(1, 0, kStart);
  EXPECT_EQ(condition(decide_at(snapshot), conditions::kScheduled).reason(), reasons::kAllPodsBound);
}

TEST(Decide, ASuspendedJobLosesItsPodsAndGoesOnWithTheNextAttempt) {
  Snapshot snapshot = running_job(R"(, "suspend": true)");
  EXPECT_EQ(snapshot.job.status.state(), "Suspended");
  snapshot = running_job();
  snapshot.job.spec.set_suspend(true);
  const Decision suspended = decide_at(snapshot);
  EXPECT_THAT(effects_of(suspended), ElementsAre("delete train-0-a1", "delete train-1-a1"));
  EXPECT_EQ(suspended.status.attempt(), 1);
  snapshot.job.status = suspended.status;
  snapshot.job.spec.set_suspend(false);
  snapshot.pods.clear();
  const Decision resumed = decide_at(snapshot);
  EXPECT_THAT(effects_of(resumed), ElementsAre("create pods/train-0-a2", "create pods/train-1-a2"));
  EXPECT_EQ(resumed.status.restarts(), 0);
}

// As in a suspension, the pods are told to end, so their gang writes a checkpoint.
TEST(Decide, ACancelledJobLosesItsPodsAndHasFailedOnceTheyAreGone) {
  Snapshot snapshot = running_job();
  snapshot.job.annotations[annotations::kCancel] = kCancelled;
  const Decision cancelled = decide_at(snapshot);
  EXPECT_THAT(effects_of(cancelled), ElementsAre("delete train-0-a1", "delete train-1-a1"));
  EXPECT_FALSE(is_finished(cancelled.status)) << "while its pods may still save";
  snapshot.job.status = cancelled.status;
  snapshot.pods[0].gone_by = kStart + 30s;
  snapshot.pods[1].gone_by = kStart + 30s;
  EXPECT_THAT(effects_of(decide_at(snapshot)), IsEmpty());
  snapshot.pods.clear();
  const Decision over = decide_at(snapshot);
  EXPECT_EQ(over.status.state(), "Failed");
  EXPECT_EQ(condition(over, conditions::kFailed).reason(), kCancelledReason);
  EXPECT_THAT(effects_of(over), IsEmpty());
  snapshot.job.status = over.status;
  snapshot.job.annotations.clear();
  EXPECT_EQ(decide_at(snapshot).status.state(), "Failed") << "for good";
}

TEST(Decide, AJobIsCancelledAlsoWhenItCannotBePlannedOrIsSuspended) {
  Snapshot suspended = running_job(R"(, "suspend": true)");
  suspended.pods.clear();
  suspended.job.annotations[annotations::kCancel] = kCancelled;
  EXPECT_EQ(condition(decide_at(suspended), conditions::kFailed).reason(), kCancelledReason);
  Snapshot unknown = running_job();
  unknown.pods.clear();
  unknown.job.annotations[annotations::kCancel] = "false";
  EXPECT_FALSE(is_finished(decide_at(unknown).status)) << "no other value cancels";
}

TEST(Decide, NothingIsMadeAgainAfterTheEnd) {
  Snapshot snapshot = running_job();
  snapshot.pods[0] = ended_pod(0, 0, kStart);
  const Decision complete = decide_at(snapshot);
  EXPECT_EQ(complete.status.state(), "Complete");
  snapshot.job.status = complete.status;
  snapshot.pods.clear();
  snapshot.plan.reset();
  snapshot.has_service = false;
  EXPECT_THAT(effects_of(decide_at(snapshot, kStart + 1000s)), IsEmpty());
}

TEST(Decide, AJobOverItsDeadlineFailsAndItsPodsGo) {
  Snapshot snapshot = running_job(R"(, "activeDeadlineSeconds": 60)");
  const Decision decision = decide_at(snapshot, kStart + 60s);
  EXPECT_EQ(condition(decision, conditions::kFailed).reason(), reasons::kDeadlineExceeded);
  EXPECT_THAT(effects_of(decision), ElementsAre("delete train-0-a1", "delete train-1-a1"));
}

TEST(Decide, AJobThatRanAndCannotBePlannedNowMeetsItsDeadlineToo) {
  Snapshot snapshot = running_job(R"(, "activeDeadlineSeconds": 60)");
  snapshot.job.status.mutable_plan()->set_document("damaged");
  const Decision before = decide_at(snapshot, kStart + 20s);
  EXPECT_EQ(condition(before, conditions::kPlanned).status(), "False");
  EXPECT_EQ(before.look_again, 40s);
  const Decision over = decide_at(snapshot, kStart + 60s);
  EXPECT_EQ(condition(over, conditions::kFailed).reason(), reasons::kDeadlineExceeded);
  EXPECT_THAT(effects_of(over), ElementsAre("delete train-0-a1", "delete train-1-a1"));
}

TEST(Decide, AJobThatWaitsToBePlannedHasNotRun) {
  Snapshot snapshot =
      new_job(R"(, "activeDeadlineSeconds": 60, "scheduling": {"gang": {"provider": "Kueue"}})");
  snapshot.job.status = decide_at(snapshot).status;
  EXPECT_FALSE(is_finished(decide_at(snapshot, kStart + 1000s).status));
}

TEST(Decide, AFinishedJobIsDeletedWhenItsTimeIsOver) {
  Snapshot snapshot = running_job(R"(, "ttlSecondsAfterFinished": 100)");
  snapshot.pods[0] = ended_pod(0, 0, kStart);
  snapshot.job.status = decide_at(snapshot).status;
  EXPECT_THAT(effects_of(decide_at(snapshot, kStart + 100s)), ElementsAre("delete the job"));
}

TEST(Decide, AJobOfAnotherControllerOrBeingDeletedIsNotTouched) {
  Snapshot snapshot = new_job(R"(, "managedBy": "kueue.x-k8s.io/multikueue")");
  EXPECT_THAT(effects_of(decide_at(snapshot)), IsEmpty());
  EXPECT_EQ(text_of(decide_at(snapshot).status), text_of(v1alpha1::JobStatus()));
  snapshot = running_job();
  snapshot.job.being_deleted = true;
  snapshot.pods.clear();
  EXPECT_THAT(effects_of(decide_at(snapshot)), IsEmpty());
}

TEST(Decide, AJobThatDoesNotFitHasNoPods) {
  kube::Json object = job_object();
  object.as_object()["spec"].as_object()["model"] = kube::JsonObject{{"preset", "llama3-70b"}};
  const Decision decision = decide_at({.job = read_job(object)});
  EXPECT_THAT(effects_of(decision), IsEmpty());
  EXPECT_EQ(condition(decision, conditions::kPlanned).reason(), reasons::kDoesNotFit);
  EXPECT_EQ(condition(decision, conditions::kPlanned).status(), "False");
}

TEST(Decide, TroubleOfPodsStandsInTheConditions) {
  Snapshot snapshot = running_job();
  snapshot.progress.reset();
  snapshot.job.status = decide_at(new_job()).status;
  snapshot.pods[1].machine.clear();
  snapshot.pods[1].trouble = "0/1 nodes are available: 1 Insufficient cpu";
  EXPECT_THAT(condition(decide_at(snapshot), conditions::kScheduled).message(),
              ::testing::HasSubstr("pod train-1-a1: 0/1 nodes are available"));
  snapshot.pods[1].machine = "machine-1";
  snapshot.pods[1].trouble = "ErrImagePull: not found";
  EXPECT_THAT(condition(decide_at(snapshot), conditions::kRunning).message(),
              ::testing::HasSubstr("ErrImagePull"));
}

TEST(Decide, PodsAreGatedOnlyWhereThatIsTheTroubleTold) {
  Snapshot snapshot = running_job();
  snapshot.progress.reset();
  snapshot.job.status = decide_at(new_job()).status;
  snapshot.pods[1].machine.clear();
  snapshot.pods[1].gated = true;
  snapshot.pods[1].trouble = "kept from the scheduler";
  EXPECT_EQ(condition(decide_at(snapshot), conditions::kScheduled).reason(), reasons::kPodsGated);
  snapshot.pods[0].machine.clear();
  snapshot.pods[0].trouble = "0/1 nodes are available: 1 Insufficient cpu";
  const v1alpha1::Condition scheduled = condition(decide_at(snapshot), conditions::kScheduled);
  EXPECT_EQ(scheduled.reason(), reasons::kWaitingForPods) << scheduled.message();
}

TEST(Decide, AContainerThatIsNotCreatedInTimeIsToldOf) {
  Snapshot snapshot = running_job();
  snapshot.progress.reset();
  snapshot.job.status = decide_at(new_job()).status;
  snapshot.pods[1].phase = PodPhase::kPending;
  snapshot.pods[1].creating_since = kStart;
  const Decision soon = decide_at(snapshot, kStart + 15s);
  EXPECT_EQ(soon.look_again, 5s);
  EXPECT_EQ(condition(soon, conditions::kRunning).message(), "the agents meet");
  EXPECT_THAT(condition(decide_at(snapshot, kStart + 20s), conditions::kRunning).message(),
              ::testing::HasSubstr("kubectl describe pod train-1-a1"));
}

TEST(Decide, ANewAuthorityOfTheReportServiceReachesThePlan) {
  const Snapshot snapshot = running_job();
  Settings of_a_new_leader = settings();
  of_a_new_leader.reports_authority = "another authority";
  const Decision decision = decide(snapshot, of_a_new_leader, kStart);
  EXPECT_THAT(effects_of(decision), ElementsAre("apply configmaps/train-plan"));
  EXPECT_THAT(told_when_done(decision), IsEmpty());
}

TEST(Decide, APlanThatSomebodyChangedIsWrittenAgainAndToldOf) {
  Snapshot snapshot = running_job();
  snapshot.plan->fingerprint = "of something else";
  const Decision decision = decide_at(snapshot);
  EXPECT_THAT(effects_of(decision), ElementsAre("apply configmaps/train-plan"));
  EXPECT_EQ(kube::text_at(*written_plan(decision), {"metadata", "uid"}), "plan");
  EXPECT_THAT(decision.notes, IsEmpty());
  EXPECT_THAT(told_when_done(decision), ElementsAre(reasons::kPlanRepaired));
}

TEST(Decide, APlanThatIsGoneIsMadeAgainFromTheStatusAsItWas) {
  Snapshot snapshot = running_job();
  const std::string before = snapshot.plan->fingerprint;
  snapshot.plan.reset();
  snapshot.nodes = {{.name = "new", .allocatable = {{"memory", 1}}}};  // on which nothing would fit
  const Decision decision = decide_at(snapshot);
  EXPECT_THAT(effects_of(decision), ElementsAre("create configmaps/train-plan"));
  EXPECT_EQ(fingerprint_of(*written_plan(decision)), before);
  EXPECT_THAT(told_when_done(decision), ElementsAre(reasons::kPlanRepaired));
}

TEST(Decide, APlanThatWasNeverMadeIsNoRepair) {
  const Snapshot first = new_job();
  Snapshot second = first;  // whose creations were lost
  second.job.status = decide_at(first).status;
  EXPECT_THAT(told_when_done(decide_at(first)), IsEmpty());
  EXPECT_THAT(told_when_done(decide_at(second)), IsEmpty());
}

TEST(Decide, TheLargestJobIsDecidedInLittleMemory) {
  constexpr int kNodes = 16384;
  const Decision decision = decide_at({.job = read_job(job_object_of(kNodes))});
  ASSERT_EQ(condition(decision, conditions::kPlanned).status(), "True")
      << condition(decision, conditions::kPlanned).message();
  const auto pods = std::count_if(decision.effects.begin(), decision.effects.end(), [](const Effect& effect) {
    return std::holds_alternative<CreatePod>(effect);
  });
  EXPECT_EQ(pods, kNodes);
  EXPECT_LE(decision.effects.size() - static_cast<std::size_t>(pods), 5U);
  EXPECT_LE(sizeof(Effect) * kNodes, std::size_t{4} << 20U) << "an effect for a pod holds nothing else";
  EXPECT_LE(decision.status.ByteSizeLong(), 4096U);
}

TEST(Decide, AJobOnTheNetworkOfNodesWaitsUntilAnAdministratorAllowsIt) {
  const Snapshot asks = new_job(R"(, "worker": {"hostNetwork": true})");
  const Decision refused = decide(asks, settings(), kStart);
  EXPECT_THAT(effects_of(refused), ::testing::Not(Contains(HasSubstr("create pods/"))));
  const v1alpha1::Condition* scheduled = find_condition(refused.status, conditions::kScheduled);
  ASSERT_NE(scheduled, nullptr);
  EXPECT_EQ(scheduled->status(), "False");
  EXPECT_EQ(scheduled->reason(), reasons::kNotAllowed);
  EXPECT_THAT(scheduled->message(), HasSubstr("--allow-host-network"));
  Settings allows = settings();
  allows.allow_host_network = true;
  EXPECT_THAT(effects_of(decide(asks, allows, kStart)), Contains("create pods/train-0-a1"));
}

TEST(Decide, AnAdministratorWhoForbidsTheNetworkOfNodesStopsNoJobThatRuns) {
  const Snapshot runs = [] {
    Snapshot snapshot = running_job();
    snapshot.job.spec.mutable_worker()->set_host_network(true);
    return snapshot;
  }();
  const Decision decision = decide(runs, settings(), kStart);
  EXPECT_THAT(effects_of(decision), ::testing::Not(Contains(HasSubstr("delete"))));
  EXPECT_TRUE(is_true(decision.status, conditions::kScheduled));
}

}  // namespace
}  // namespace caravan::controller::testing
