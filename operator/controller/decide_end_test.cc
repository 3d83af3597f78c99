// How a job ends, is suspended, cancelled and deleted.
#include <gmock/gmock.h>

#include "operator/api/cancellation.h"
#include "operator/testing/decisions.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

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

// As a program that is no agent may.
TEST(Decide, APodOfNodeZeroThatEndsWellAndSaysNothingIsLost) {
  Snapshot snapshot = running_job();
  snapshot.pods[0] = ended_pod(0, 0, kStart);
  snapshot.pods[0].last_words.clear();
  const Decision waits = decide_at(snapshot);
  EXPECT_FALSE(is_finished(waits.status));
  EXPECT_EQ(waits.look_again, 30s) << "a report may follow";
  const Decision lost = decide_at(snapshot, kStart + 30s);
  EXPECT_EQ(lost.status.state(), "Restarting");
  EXPECT_THAT(condition(lost, conditions::kRestarting).message(),
              HasSubstr("pod train-0-a1 ended with exit code 0"));
}

// Of a job whose status shows the checkpoint of step 50.
class LastWordsOfACheckpoint : public ::testing::Test {
 protected:
  LastWordsOfACheckpoint() {
    snapshot_.progress = JobProgress{.attempt = 1, .checkpoints = {{50, kStart, 1}}};
    look();
  }
  void look() { snapshot_.job.status = decide_at(snapshot_).status; }
  void fail_to_save(int step) {
    snapshot_.progress->failed_save.emplace().set_step(step);
    look();
  }
  // The last checkpoint that is complete is that of `step`.
  void end(int step) {
    snapshot_.pods[0] = ended_pod(0, 0, kStart);
    snapshot_.pods[0].last_words =
        fmt::format(R"({{"result": "Complete", "lastStep": {{"step": 100}}, "lastCheckpoint":
                        {{"attempt": 1, "report": {{"outcome": "Written", "step": {}}}}}}})",
                    step);
    look();
  }
  const v1alpha1::JobStatus& status() const { return snapshot_.job.status; }

  Snapshot snapshot_ = running_job(R"(, "checkpoint": {"claimName": "c", "path": "p", "keepLast": 3})");
};

TEST_F(LastWordsOfACheckpoint, ThatNobodyReportedShowIt) {
  fail_to_save(75);
  EXPECT_TRUE(is_true(status(), conditions::kCheckpointFailing));
  end(100);
  EXPECT_EQ(status().state(), "Complete");
  EXPECT_EQ(status().last_checkpoint().path(), "p/step-000100");
  EXPECT_EQ(status().checkpoints_size(), 2);
  EXPECT_FALSE(is_true(status(), conditions::kCheckpointFailing));
}

TEST_F(LastWordsOfACheckpoint, ThatIsShownEndNoTrouble) {
  fail_to_save(100);
  snapshot_.progress.reset();  // another leader, to whom nobody has reported yet
  end(50);
  EXPECT_EQ(status().state(), "Complete");
  EXPECT_TRUE(is_true(status(), conditions::kCheckpointFailing));
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

// A coordinator that is told to end may have begun the next attempt before, or tell so when it is late.
TEST(Decide, AJobResumesBehindTheAttemptsThatItsStatusDidNotHearOf) {
  Snapshot snapshot = running_job(R"(, "failurePolicy": {"maxRestarts": 0})");
  snapshot.job.spec.set_suspend(true);
  snapshot.job.status = decide_at(snapshot).status;
  snapshot.progress = JobProgress{.attempt = 2};
  snapshot.progress->step.emplace().set_step(7);
  snapshot.pods.clear();
  snapshot.job.status = decide_at(snapshot).status;
  snapshot.job.spec.set_suspend(false);
  const Decision resumed = decide_at(snapshot);
  EXPECT_THAT(effects_of(resumed), ElementsAre("create pods/train-0-a3", "create pods/train-1-a3"));
  EXPECT_EQ(resumed.status.restarts(), 0);
  EXPECT_FALSE(is_finished(resumed.status));
  EXPECT_FALSE(is_true(resumed.status, conditions::kRunning)) << "by what an attempt before it has told";
}

TEST(Decide, AJobIsPlannedAnewForWhatItsResumptionGivesIt) {
  Snapshot snapshot = new_job(R"(, "suspend": true)");
  snapshot.job.status = decide_at(snapshot).status;
  const std::string planned = snapshot.job.status.plan().document();
  ASSERT_NE(planned, "");
  snapshot.job.status.mutable_plan()->set_document("of other machines");
  EXPECT_EQ(decide_at(snapshot).status.plan().document(), "of other machines") << "nothing has changed";
  snapshot.job.spec.set_suspend(false);
  ++snapshot.job.generation;
  const Decision resumed = decide_at(snapshot);
  EXPECT_EQ(resumed.status.plan().document(), planned);
  EXPECT_EQ(resumed.status.attempt(), 1);
}

TEST(Decide, ASuspensionThatNobodySawIsMadeUpForWhereItChangedWhatPodsAskFor) {
  Snapshot snapshot = running_job();
  snapshot.job.generation += 2;
  EXPECT_THAT(effects_of(decide_at(snapshot)), IsEmpty()) << "it went on as it was";
  snapshot.job.spec.mutable_worker()->set_image("own:2");
  const Decision missed = decide_at(snapshot);
  EXPECT_THAT(effects_of(missed), ElementsAre("delete train-0-a1", "delete train-1-a1"));
  EXPECT_EQ(missed.status.state(), "Suspended");
  EXPECT_EQ(missed.look_again, 1ms);
  snapshot.job.status = missed.status;
  EXPECT_THAT(effects_of(decide_at(snapshot)), ElementsAre("delete train-0-a1", "delete train-1-a1"))
      << "an operator that was interrupted begins again";
  snapshot.pods.clear();
  snapshot.job.status = decide_at(snapshot).status;
  const Decision resumed = decide_at(snapshot);
  EXPECT_THAT(effects_of(resumed), Contains("create pods/train-0-a2"));
  EXPECT_EQ(resumed.status.restarts(), 0);
  snapshot.job.status = resumed.status;
  EXPECT_FALSE(is_true(decide_at(snapshot).status, conditions::kSuspended)) << "once";
}

// A pod that is replaced is of the version of the others, and a gang that is resumed of today's.
TEST(Decide, PodsThatTrainTogetherHaveOneImage) {
  const auto decide_with = [](const Snapshot& snapshot, const std::string& image) {
    Settings settings = testing::settings();
    settings.worker_image = settings.worker_image_cuda = image;
    return decide(snapshot, settings, kStart).status;
  };
  Snapshot snapshot = running_job();
  snapshot.job.status.clear_worker_image();
  snapshot.job.status = decide_with(snapshot, "worker:1");
  EXPECT_EQ(snapshot.job.status.worker_image(), "worker:1");
  snapshot.job.status = decide_with(snapshot, "worker:2");
  EXPECT_EQ(snapshot.job.status.worker_image(), "worker:1");
  snapshot.job.spec.set_suspend(true);
  snapshot.job.status = decide_with(snapshot, "worker:2");
  for (PodView& pod : snapshot.pods) pod.gone_by = kStart + 60s;
  snapshot.job.spec.set_suspend(false);
  EXPECT_EQ(decide_with(snapshot, "worker:2").worker_image(), "worker:2") << "while the others still end";
  snapshot.job.spec.mutable_worker()->set_image("own:1");
  EXPECT_EQ(decide_with(snapshot, "worker:2").worker_image(), "");
}

TEST(Decide, WhatAnotherVersionReadsOfAJobIsNoSuspension) {
  Snapshot other = running_job();
  const std::string seen = other.job.status.asked_for();
  other.job.status.set_asked_for("as another version reads it");
  EXPECT_THAT(effects_of(decide_at(other)), IsEmpty());
  EXPECT_EQ(decide_at(other).status.asked_for(), seen);
  ++other.job.generation;
  EXPECT_THAT(effects_of(decide_at(other)), IsEmpty()) << "nor what another one saw";
  Snapshot older = running_job();
  older.job.status.clear_asked_for();
  older.job.generation += 2;
  older.job.spec.mutable_worker()->set_image("own:2");
  EXPECT_FALSE(is_true(decide_at(older).status, conditions::kSuspended)) << "it remembered nothing";
}

TEST(Decide, WhatASuspendedJobHasSavedIsShownAsSoonAsItsPodsAreGone) {
  Snapshot snapshot = running_job(R"(, "checkpoint": {"claimName": "c", "path": "p"})");
  snapshot.job.spec.set_suspend(true);
  snapshot.progress = JobProgress{.attempt = 1};
  snapshot.progress->step.emplace().set_step(7);
  snapshot.job.status = decide_at(snapshot).status;
  snapshot.progress->checkpoints = {{8, kStart}};
  EXPECT_EQ(decide_at(snapshot, kStart + 1s).status.last_checkpoint().step(), 0);
  snapshot.pods.clear();
  EXPECT_EQ(decide_at(snapshot, kStart + 1s).status.last_checkpoint().step(), 8);
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

TEST(Decide, ACancelledJobWaitsForThePodOfADeadMachineUntilItsGraceIsOver) {
  Snapshot snapshot = running_job();
  snapshot.job.annotations[annotations::kCancel] = kCancelled;
  snapshot.pods.resize(1);
  snapshot.pods[0].gone_by = kStart + 30s;
  const Decision waiting = decide_at(snapshot);
  EXPECT_FALSE(is_finished(waiting.status));
  EXPECT_EQ(waiting.look_again, 31s);
  EXPECT_EQ(decide_at(snapshot, kStart + 31s).status.state(), "Failed");
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

TEST(Decide, PodsOfAFailureThatTheCoordinatorToldHaveAMinuteToEndByThemselves) {
  Snapshot reported = running_job();
  reported.progress->result.emplace();
  reported.progress->result->set_result("Failed");
  reported.progress->result->set_reason(reasons::kNonFiniteLoss);
  Snapshot written = running_job();
  written.progress.reset();
  written.pods[0] = ended_pod(0, 1, kStart);
  written.pods[0].last_words = R"({"result": "Failed", "reason": "NonFiniteLoss"})";
  for (Snapshot* snapshot : {&reported, &written}) {
    const Decision failed = decide_at(*snapshot);
    EXPECT_EQ(condition(failed, conditions::kFailed).reason(), reasons::kNonFiniteLoss);
    EXPECT_THAT(effects_of(failed), IsEmpty()) << "their logs would go with them";
    snapshot->job.status = failed.status;
    const Decision waiting = decide_at(*snapshot, kStart + 59s);
    EXPECT_THAT(effects_of(waiting), IsEmpty());
    EXPECT_EQ(waiting.look_again, 1s);
  }
  EXPECT_THAT(effects_of(decide_at(reported, kStart + 60s)),
              ElementsAre("delete train-0-a1", "delete train-1-a1"));
  EXPECT_THAT(effects_of(decide_at(written, kStart + 60s)), ElementsAre("delete train-1-a1"));
}

TEST(Decide, APodWithoutAMachineGoesWithItsJob) {
  Snapshot snapshot = running_job();
  snapshot.progress->result.emplace();
  snapshot.progress->result->set_result("Failed");
  snapshot.progress->result->set_reason(reasons::kNonFiniteLoss);
  snapshot.pods[1].phase = PodPhase::kPending;
  snapshot.pods[1].machine.clear();
  EXPECT_THAT(effects_of(decide_at(snapshot)), ElementsAre("delete train-1-a1")) << "it has nothing to say";
}

// Its coordinator would begin another attempt.
class OneRestartTooMany : public ::testing::Test {
 protected:
  OneRestartTooMany() {
    v1alpha1::JobEvent& died = snapshot_.progress->event.emplace();
    died.set_attempt(1);
    died.set_reason(reasons::kRankFailed);
    died.set_restarting(true);
    died.set_counts(true);
  }

  Snapshot snapshot_ = running_job(R"(, "failurePolicy": {"maxRestarts": 0})");
};

TEST_F(OneRestartTooMany, HasTheCoordinatorEndItsAgentsSoThatTheirLogsStay) {
  const Decision failed = decide_at(snapshot_);
  EXPECT_EQ(condition(failed, conditions::kFailed).reason(), reasons::kMaxRestartsReached);
  EXPECT_THAT(effects_of(failed), ElementsAre("ask to stop"));
  snapshot_.job.status = failed.status;
  const Decision waiting = decide_at(snapshot_, kStart + 19s);
  EXPECT_THAT(effects_of(waiting), ElementsAre("ask to stop"));
  EXPECT_EQ(waiting.look_again, 1s);
  EXPECT_THAT(effects_of(decide_at(snapshot_, kStart + 20s)),
              ElementsAre("delete train-0-a1", "delete train-1-a1"))
      << "their devices are for others";
  snapshot_.progress->result.emplace().set_result(reasons::kInterrupted);
  snapshot_.pods[0] = ended_pod(0, 130, kStart);
  EXPECT_THAT(effects_of(decide_at(snapshot_, kStart + 19s)), Not(Contains("delete train-1-a1")))
      << "it has heard that the job is over";
}

TEST_F(OneRestartTooMany, EndsPodsAtOnceWhereNobodyCanTellThemTo) {
  snapshot_.pods[0].gone_by = kStart + 30s;
  EXPECT_THAT(effects_of(decide_at(snapshot_)), ElementsAre("delete train-1-a1")) << "no coordinator is left";
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
  snapshot.pods[1] = ended_pod(1, 0, kStart);
  EXPECT_THAT(effects_of(decide_at(snapshot, kStart + 99s)), IsEmpty());
  EXPECT_THAT(effects_of(decide_at(snapshot, kStart + 100s)), ElementsAre("delete the job"));
}

TEST(Decide, AFinishedJobStaysUntilNoPodOfItMayUseAMachine) {
  Snapshot snapshot = running_job(R"(, "activeDeadlineSeconds": 60, "ttlSecondsAfterFinished": 0)");
  const TimePoint end = kStart + 60s;
  const Decision over = decide_at(snapshot, end);
  EXPECT_THAT(effects_of(over), ElementsAre("delete train-0-a1", "delete train-1-a1"));
  snapshot.job.status = over.status;
  for (PodView& pod : snapshot.pods) pod.gone_by = end + 30s;
  const Decision waiting = decide_at(snapshot, end + 1s);
  EXPECT_THAT(effects_of(waiting), IsEmpty());
  EXPECT_EQ(waiting.look_again, 30s);
  EXPECT_THAT(effects_of(decide_at(snapshot, end + 31s)), ElementsAre("delete the job"))
      << "a machine that died never says that its pods are gone";
  snapshot.pods.clear();
  EXPECT_THAT(effects_of(decide_at(snapshot, end + 1s)), ElementsAre("delete the job"));
}

TEST(Decide, AJobThatIsDeletedAtItsEndLetsItsPodsEndByThemselves) {
  Snapshot snapshot = running_job(R"(, "ttlSecondsAfterFinished": 0)");
  snapshot.progress->result.emplace().set_result("Complete");
  const Decision complete = decide_at(snapshot);
  EXPECT_THAT(effects_of(complete), IsEmpty());
  EXPECT_EQ(complete.look_again, 60s);
}

}  // namespace
}  // namespace caravan::controller::testing
