#include "operator/service/job_progress.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "operator/api/names.h"
#include "operator/testing/jobs.h"

namespace caravan::controller::testing {
namespace {

v1alpha1::JobReport attempt_report(int attempt) {
  v1alpha1::JobReport report;
  report.mutable_attempt_started()->set_attempt(attempt);
  return report;
}

TEST(AddReport, WhatIsOldChangesNothing) {
  JobProgress progress;
  EXPECT_TRUE(add_report(attempt_report(2), TimePoint(), progress));
  EXPECT_FALSE(add_report(attempt_report(1), TimePoint(), progress));
  EXPECT_FALSE(add_report(attempt_report(2), TimePoint(), progress));
  v1alpha1::JobReport step;
  step.mutable_step()->set_attempt(1);
  EXPECT_FALSE(add_report(step, TimePoint(), progress));
  EXPECT_FALSE(progress.step);
  step.mutable_step()->set_attempt(2);
  EXPECT_TRUE(add_report(step, TimePoint(), progress)) << "the first step is news";
  EXPECT_FALSE(add_report(step, TimePoint(), progress));
}

TEST(AddReport, AFailureThatIsToldAgainKeepsTheTimeOfItsFirstReport) {
  const TimePoint first = TimePoint() + std::chrono::seconds(5);
  JobProgress progress;
  v1alpha1::JobReport failure;
  failure.mutable_event()->set_attempt(1);
  add_report(failure, first, progress);
  add_report(failure, first + std::chrono::seconds(9), progress);
  EXPECT_EQ(progress.event_at, first);
  failure.mutable_event()->set_attempt(2);
  add_report(failure, first + std::chrono::seconds(9), progress);
  EXPECT_EQ(progress.event_at, first + std::chrono::seconds(9));
}

TEST(AddReport, AnAnswerToARequestIsNewsOnceAndMovesNoCheckpoint) {
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

class Saves : public ::testing::Test {
 protected:
  bool tell(v1alpha1::CheckpointReport::Outcome outcome, int step, double seconds_ago = 0) {
    v1alpha1::JobReport report;
    report.mutable_checkpoint()->set_attempt(progress_.attempt);
    report.mutable_checkpoint()->set_seconds_ago(seconds_ago);
    v1alpha1::CheckpointReport& checkpoint = *report.mutable_checkpoint()->mutable_report();
    checkpoint.set_outcome(outcome);
    checkpoint.set_step(step);
    checkpoint.set_stall_seconds(2);
    return add_report(report, now_, progress_);
  }

  TimePoint now_ = kStart;
  JobProgress progress_{.attempt = 1};
};

TEST_F(Saves, ThatAreToldAgainCountOnceAndEndNoTrouble) {
  tell(v1alpha1::CheckpointReport::Written, 500);
  EXPECT_TRUE(tell(v1alpha1::CheckpointReport::Failed, 600));
  now_ += std::chrono::seconds(90);
  EXPECT_FALSE(tell(v1alpha1::CheckpointReport::Written, 500, 90));
  EXPECT_TRUE(progress_.failed_save);
  EXPECT_FALSE(tell(v1alpha1::CheckpointReport::Failed, 600, 80));
  EXPECT_EQ(progress_.stall_seconds, 2 * 2);
  ASSERT_EQ(progress_.checkpoints.size(), 1U);
  EXPECT_EQ(progress_.checkpoints[0].at, kStart);
}

TEST_F(Saves, WhoHearsOfThemLaterKnowsTheirTime) {
  tell(v1alpha1::CheckpointReport::Written, 500, 90);
  EXPECT_EQ(progress_.checkpoints.back().at, kStart - std::chrono::seconds(90));
}

TEST_F(Saves, OfAStepThatWasTrainedAgainTheLastCounts) {
  tell(v1alpha1::CheckpointReport::Written, 500);
  progress_.attempt = 2;
  now_ += std::chrono::seconds(60);
  tell(v1alpha1::CheckpointReport::Written, 500);
  ASSERT_EQ(progress_.checkpoints.size(), 1U);
  EXPECT_EQ(progress_.checkpoints[0].at, now_);
  EXPECT_EQ(progress_.stall_seconds, 2 * 2);
}

TEST_F(Saves, AnAttemptIsToldAgainThatItWentOnFromOne) {
  for (int again = 0; again < 2; ++again) tell(v1alpha1::CheckpointReport::Resumed, 500);
  EXPECT_EQ(progress_.resumed_step, 500);
  EXPECT_EQ(progress_.restore_seconds, 2);
}

TEST(AddReport, StragglersAreNoFailuresAndTheFirstFewAreKept) {
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

TEST(AddReport, ANodeIsAbsentUntilTheAttemptThatItKeepsBackStarts) {
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

}  // namespace
}  // namespace caravan::controller::testing
