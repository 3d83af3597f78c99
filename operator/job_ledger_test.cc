// Where a job's time goes, through a life with a restart.
#include "operator/job_ledger.h"

#include <gmock/gmock.h>

#include "operator/api/conditions.h"
#include "operator/testing/jobs.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::Pair;

constexpr Clock::TimePoint kBegin{1h};

v1alpha1::JobStatus status_with(const char* type, const std::string& reason, int restarts = 0) {
  v1alpha1::JobStatus status;
  status.set_restarts(restarts);
  Conditions(status, 1, kStart).set(conditions::kPlanned, true, reasons::kHeuristicSelected, "");
  Conditions(status, 1, kStart).set(type, true, reason, "");
  if (type != std::string(conditions::kPlanned))
    Conditions(status, 1, kStart).set(conditions::kScheduled, true, reasons::kAllPodsBound, "");
  return status;
}

v1alpha1::JobStatus planned() {
  return status_with(conditions::kPlanned, reasons::kHeuristicSelected);
}

Snapshot at_step(int attempt, int step) {
  Snapshot snapshot{.job = job(), .pods = {running_pod(0)}};
  snapshot.progress = JobProgress{.attempt = attempt};
  snapshot.progress->step.emplace();
  snapshot.progress->step->set_attempt(attempt);
  snapshot.progress->step->set_step(step);
  return snapshot;
}

// Of the only job; without the categories of which none has passed.
std::map<TimeCategory, double> seconds_of(JobLedger& ledger, Clock::TimePoint now) {
  std::map<TimeCategory, double> seconds = ledger.accounts(now).begin()->second.seconds;
  std::erase_if(seconds, [](const auto& category) { return category.second == 0; });
  return seconds;
}

TEST(JobLedger, EachSecondBelongsToWhatTheJobDidThen) {
  JobLedger ledger;
  const Snapshot waiting{.job = job()};
  const auto steps = status_with(conditions::kRunning, reasons::kStepsAdvancing);
  const auto restarting = status_with(conditions::kRestarting, reasons::kPodLost, 1);
  ledger.look(waiting, planned(), kBegin);
  ledger.look(waiting, status_with(conditions::kScheduled, reasons::kAllPodsBound), kBegin + 2s);
  ledger.look(at_step(1, 1), steps, kBegin + 5s);
  ledger.look(at_step(1, 40), steps, kBegin + 20s);
  ledger.look(at_step(1, 40), restarting, kBegin + 25s);
  ledger.look(at_step(1, 40), restarting, kBegin + 26s);
  ledger.look(at_step(2, 1), steps, kBegin + 29s);
  ledger.look(at_step(2, 41), steps, kBegin + 40s);
  ledger.look(at_step(2, 100), status_with(conditions::kComplete, reasons::kStepsReached), kBegin + 50s);
  ledger.look(waiting, status_with(conditions::kComplete, reasons::kStepsReached), kBegin + 51s);
  const auto accounts = ledger.accounts(kBegin + 1000s);
  ASSERT_EQ(accounts.size(), 1U);
  EXPECT_THAT(seconds_of(ledger, kBegin + 1000s),
              ElementsAre(Pair(TimeCategory::kQueue, 2), Pair(TimeCategory::kStartup, 3 + 4),
                          Pair(TimeCategory::kProductive, 20 + 10), Pair(TimeCategory::kRework, 11),
                          Pair(TimeCategory::kTeardown, 1)));
  EXPECT_EQ(accounts.begin()->second.restarts.at("PodLost"), 1);
}

TEST(JobLedger, AGangThatWaitsForMachinesAnewIsInTheQueueWhateverItWaitsAfter) {
  for (const auto& [before, while_it_has_some] : {std::pair(conditions::kRestarting, TimeCategory::kStartup),
                                                  {conditions::kStalled, TimeCategory::kStalled}}) {
    auto status = status_with(before, reasons::kPodLost, 1);
    EXPECT_EQ(category_of(job(), status, true, false), while_it_has_some);
    Conditions(status, 1, kStart).set(conditions::kScheduled, false, reasons::kWaitingForPods, "");
    EXPECT_EQ(category_of(job(), status, true, false), TimeCategory::kQueue) << before;
  }
}

TEST(JobLedger, TheStartBehindAHangIsAStart) {
  auto status = status_with(conditions::kStalled, reasons::kNoStepWithinTimeout, 1);
  EXPECT_EQ(category_of(job(), status, true, false), TimeCategory::kStalled);
  Conditions(status, 1, kStart).set(conditions::kRunning, true, reasons::kRendezvous, "");
  EXPECT_EQ(category_of(job(), status, true, false), TimeCategory::kStartup);
}

TEST(JobLedger, AJobWhoseSpecIsNotUnderstoodWaitsForNoDevices) {
  v1alpha1::JobStatus status;
  Conditions(status, 1, kStart).set(conditions::kPlanned, false, reasons::kNewerSpec, "");
  EXPECT_EQ(category_of(job(), status, false, false), std::nullopt);
  Conditions(status, 1, kStart).set(conditions::kPlanned, false, reasons::kDoesNotFit, "");
  EXPECT_EQ(category_of(job(), status, false, false), TimeCategory::kQueue);
}

TEST(JobLedger, ARestartThatTheConditionIsPastIsOfTheReasonThatWasTold) {
  JobLedger ledger;
  Snapshot snapshot = at_step(1, 1);
  auto status = status_with(conditions::kRunning, reasons::kStepsAdvancing);
  ledger.look(snapshot, status, kBegin);
  Conditions(status, 1, kStart).set(conditions::kRestarting, false, reasons::kAttemptStarted, "");
  snapshot.progress->ended.emplace_back().set_reason(reasons::kPreempted);
  status.set_restarts(1);
  ledger.look(snapshot, status, kBegin + 1s);
  EXPECT_EQ(ledger.accounts(kBegin + 2s).begin()->second.restarts.at("Preempted"), 1);
}

// What grows is seen from its first scrape on, so a counter that begins with its first event loses that.
TEST(JobLedger, EveryReasonOfARestartIsThereBeforeTheFirst) {
  JobLedger ledger;
  const auto restarts = [&] { return ledger.accounts(kBegin).begin()->second.restarts; };
  ledger.look({.job = job()}, planned(), kBegin);
  EXPECT_TRUE(restarts().empty()) << "a job that waits cannot restart";
  ledger.look({.job = job()}, status_with(conditions::kScheduled, reasons::kAllPodsBound), kBegin);
  EXPECT_EQ(restarts().size(), std::size(reasons::kOfStops));
  EXPECT_EQ(restarts().at("PodLost"), 0);
  ledger.look(at_step(1, 1), status_with(conditions::kRestarting, reasons::kPodLost, 1), kBegin);
  EXPECT_EQ(restarts().at("PodLost"), 1);
  EXPECT_EQ(restarts().at("RankFailed"), 0);
}

TEST(JobLedger, EveryCategoryIsThereBeforeItsTimePasses) {
  JobLedger ledger;
  const auto seconds = [&] { return ledger.accounts(kBegin).begin()->second.seconds; };
  ledger.look({.job = job()}, planned(), kBegin);
  EXPECT_THAT(seconds(), ElementsAre(Pair(TimeCategory::kQueue, 0))) << "a job that waits does nothing else";
  ledger.look({.job = job()}, status_with(conditions::kScheduled, reasons::kAllPodsBound), kBegin);
  for (int i = 0; i <= static_cast<int>(TimeCategory::kTeardown); ++i) {
    const auto category = static_cast<TimeCategory>(i);
    EXPECT_TRUE(seconds().contains(category)) << name_of(category);
  }
}

TEST(JobLedger, AJobWhoseQueueTookItsDevicesBackWaitsForThem) {
  JobLedger ledger;
  const auto suspended = status_with(conditions::kSuspended, reasons::kByQueue);
  ledger.look({.job = job(), .pods = {running_pod(0)}}, suspended, kBegin);
  ledger.look({.job = job()}, suspended, kBegin + 3s);
  Snapshot deleted{.job = job()};
  deleted.job.being_deleted = true;
  ledger.look(deleted, suspended, kBegin + 8s);
  EXPECT_THAT(seconds_of(ledger, kBegin + 9s),
              ElementsAre(Pair(TimeCategory::kQueue, 5), Pair(TimeCategory::kTeardown, 3)));
}

class Ledger : public ::testing::Test {
 protected:
  std::map<TimeCategory, double> seconds(std::chrono::seconds at) { return seconds_of(ledger_, kBegin + at); }
  static void tell_stall(Snapshot& snapshot, double silent_seconds) {
    v1alpha1::JobEvent& event = snapshot.progress->event.emplace();
    event.set_reason(reasons::kStalled);
    event.set_attempt(snapshot.progress->attempt);
    event.set_silent_seconds(silent_seconds);
  }

  JobLedger ledger_;
  const v1alpha1::JobStatus steps_ = status_with(conditions::kRunning, reasons::kStepsAdvancing);
  const v1alpha1::JobStatus stalled_ = status_with(conditions::kStalled, reasons::kNoStepWithinTimeout, 1);
};

TEST_F(Ledger, WhatCheckpointsTookIsTakenOutOfTheTimeOfStepsAndOfTheStartThatFollows) {
  ledger_.look(at_step(1, 1), steps_, kBegin);
  EXPECT_TRUE(seconds(9s).empty()) << "nobody knows yet what they were spent on";
  Snapshot snapshot = at_step(1, 2);
  snapshot.progress->stall_seconds = 3;
  ledger_.look(snapshot, steps_, kBegin + 10s);
  EXPECT_THAT(seconds(12s),
              ElementsAre(Pair(TimeCategory::kProductive, 7), Pair(TimeCategory::kCheckpointStall, 3)));
  snapshot.progress->restore_seconds = 4;
  ledger_.look(snapshot, status_with(conditions::kRestarting, reasons::kPodLost, 1), kBegin + 20s);
  ledger_.look(snapshot, steps_, kBegin + 30s);
  EXPECT_THAT(seconds(31s),
              ElementsAre(Pair(TimeCategory::kStartup, 6), Pair(TimeCategory::kRestore, 4),
                          Pair(TimeCategory::kProductive, 17), Pair(TimeCategory::kCheckpointStall, 3)));
}

TEST_F(Ledger, TheLastCheckpointIsNotProductive) {
  Snapshot snapshot = at_step(1, 100);
  ledger_.look(snapshot, steps_, kBegin);
  for (const auto at : {20s, 40s}) EXPECT_TRUE(seconds(at).empty());
  snapshot.progress->stall_seconds = 50;
  ledger_.look(snapshot, status_with(conditions::kComplete, reasons::kStepsReached), kBegin + 60s);
  EXPECT_THAT(seconds(60s),
              ElementsAre(Pair(TimeCategory::kProductive, 10), Pair(TimeCategory::kCheckpointStall, 50)));
}

TEST_F(Ledger, TheSilenceOfAGangThatHungIsNotProductive) {
  Snapshot snapshot = at_step(1, 7);
  ledger_.look(snapshot, steps_, kBegin);
  EXPECT_TRUE(seconds(30s).empty());
  tell_stall(snapshot, 40);
  ledger_.look(snapshot, stalled_, kBegin + 60s);
  ledger_.look(snapshot, stalled_, kBegin + 61s);
  EXPECT_THAT(seconds(65s),
              ElementsAre(Pair(TimeCategory::kProductive, 20), Pair(TimeCategory::kStalled, 45)));
  // Told again with the steps of the next attempt.
  Snapshot next = at_step(2, 8);
  next.progress->event = snapshot.progress->event;
  ledger_.look(next, steps_, kBegin + 70s);
  next.progress->step->set_step(9);
  ledger_.look(next, steps_, kBegin + 80s);
  EXPECT_THAT(seconds(80s),
              ElementsAre(Pair(TimeCategory::kProductive, 30), Pair(TimeCategory::kStalled, 50)));
}

TEST_F(Ledger, AStartThatHungCostsTheNextAttemptNothing) {
  Snapshot snapshot{.job = job(), .progress = JobProgress{.attempt = 1}};
  ledger_.look(snapshot, status_with(conditions::kRunning, reasons::kRendezvous), kBegin);
  tell_stall(snapshot, 600);
  ledger_.look(snapshot, stalled_, kBegin + 600s);
  ledger_.look(at_step(2, 1), steps_, kBegin + 610s);
  ledger_.look(at_step(2, 2), steps_, kBegin + 630s);
  EXPECT_THAT(seconds(630s),
              ElementsAre(Pair(TimeCategory::kStartup, 600), Pair(TimeCategory::kProductive, 20),
                          Pair(TimeCategory::kStalled, 10)));
}

TEST(JobLedger, TimeThatRunsIsCountedUpToNowAndASuspendedJobCostsNone) {
  JobLedger ledger;
  ledger.look({.job = job()}, planned(), kBegin);
  EXPECT_THAT(ledger.accounts(kBegin + 7s).begin()->second.seconds,
              ElementsAre(Pair(TimeCategory::kQueue, 7)));
  ledger.look({.job = job()}, status_with(conditions::kSuspended, reasons::kByUser), kBegin + 8s);
  EXPECT_THAT(ledger.accounts(kBegin + 99s).begin()->second.seconds,
              ElementsAre(Pair(TimeCategory::kQueue, 8)));
  ledger.forget(job().uid);
  EXPECT_TRUE(ledger.accounts(kBegin + 99s).empty());
}

TEST(JobLedger, AJobThatIsDeletedIsTornDownAndOneOfAnotherControllerIsNotOurs) {
  JobLedger ledger;
  Snapshot snapshot{.job = job(), .pods = {running_pod(0)}};
  ledger.look(snapshot, {}, kBegin);
  EXPECT_TRUE(ledger.accounts(kBegin + 7s).begin()->second.seconds.empty());
  snapshot.job.being_deleted = true;
  ledger.look(snapshot, planned(), kBegin + 7s);
  EXPECT_THAT(seconds_of(ledger, kBegin + 9s), ElementsAre(Pair(TimeCategory::kTeardown, 2)));
}

TEST(JobLedger, RestartsBeforeThisProcessAreNotCountedByIt) {
  JobLedger ledger;
  Snapshot snapshot{.job = job()};
  snapshot.job.status.set_restarts(3);
  ledger.look(snapshot, snapshot.job.status, kBegin);
  EXPECT_TRUE(ledger.accounts(kBegin).begin()->second.restarts.empty());
}

}  // namespace
}  // namespace caravan::controller::testing
