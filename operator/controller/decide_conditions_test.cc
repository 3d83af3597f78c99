// What the conditions and events of a job say.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "operator/testing/decisions.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  Snapshot snapshot = meeting_job();
  for (PodView& pod : snapshot.pods) pod.machine.clear();
  EXPECT_EQ(text_of(decide_at(snapshot).status), text_of(snapshot.job.status)) << "a write per job saved";
  snapshot.pods[0].machine = "machine-0";
  EXPECT_EQ(condition(decide_at(snapshot), conditions::kScheduled).message(), "1 of 2 pods have a machine");
}

TEST(Decide, APodThatIsDoneBeforeTheOthersStillCountsAsPlaced) {
  Snapshot snapshot = running_job();
  snapshot.pods[1] = ended_pod(1, 0, kStart);
  EXPECT_EQ(condition(decide_at(snapshot), conditions::kScheduled).reason(), reasons::kAllPodsBound);
}

TEST(Decide, TroubleOfPodsStandsInTheConditions) {
  Snapshot snapshot = meeting_job();
  snapshot.pods[1].machine.clear();
  snapshot.pods[1].trouble = "0/1 nodes are available: 1 Insufficient cpu";
  EXPECT_THAT(condition(decide_at(snapshot), conditions::kScheduled).message(),
              HasSubstr("pod train-1-a1: 0/1 nodes are available"));
  snapshot.pods[1].machine = "machine-1";
  snapshot.pods[1].trouble = "ErrImagePull: not found";
  EXPECT_THAT(condition(decide_at(snapshot), conditions::kRunning).message(), HasSubstr("ErrImagePull"));
}

TEST(Decide, PodsAreGatedOnlyWhereThatIsTheTroubleTold) {
  Snapshot snapshot = meeting_job();
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
  Snapshot snapshot = meeting_job();
  snapshot.pods[1].phase = PodPhase::kPending;
  snapshot.pods[1].creating_since = kStart;
  const Decision soon = decide_at(snapshot, kStart + 15s);
  EXPECT_EQ(soon.look_again, 5s);
  EXPECT_EQ(condition(soon, conditions::kRunning).message(), "the agents meet");
  EXPECT_THAT(condition(decide_at(snapshot, kStart + 20s), conditions::kRunning).message(),
              HasSubstr("kubectl describe pod train-1-a1"));
}

}  // namespace
}  // namespace caravan::controller::testing
