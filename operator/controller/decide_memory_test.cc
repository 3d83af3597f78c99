// What follows when a rank runs out of memory: another layout, where one fits.
#include <gmock/gmock.h>

#include <string>

#include "operator/children/plan_object.h"
#include "operator/testing/decisions.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

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
                    HasSubstr(" from now on, in place of TP1 PP1 DP4; restarting (1 of 10 restarts): rank 1 "
                              "died first")));
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
                    HasSubstr("the job does not fit"),
                    HasSubstr("; restarting (1 of 10 restarts): rank 1 died first")));
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

}  // namespace
}  // namespace caravan::controller::testing
