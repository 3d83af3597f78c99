#include "worker/agent/step_aggregator.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "common/json.h"
#include "worker/agent/report_backlog.h"

namespace caravan::agent {
namespace {

using ::testing::ElementsAre;

v1alpha1::StepReport report(int step, double seconds, int64_t peak_bytes,
                            std::optional<double> loss = std::nullopt) {
  v1alpha1::StepReport report;
  report.set_step(step);
  report.set_seconds(seconds);
  report.set_tokens(1000);
  report.set_model_flops(3e9);
  report.set_peak_bytes(peak_bytes);
  report.set_gradient_norm(1.5);
  if (loss) report.set_loss(*loss);
  return report;
}

TEST(StepAggregator, AStepIsWholeWhenEveryRankHasReportedIt) {
  StepAggregator steps(2, 1e10);
  EXPECT_FALSE(steps.add(4, 0, report(7, 0.5, 100)));
  const auto whole = steps.add(4, 1, report(7, 1.0, 200, 2.5));
  ASSERT_TRUE(whole);
  const v1alpha1::JobStep* job = &whole->job;
  EXPECT_EQ(job->attempt(), 4);
  EXPECT_EQ(job->step(), 7);
  EXPECT_EQ(job->loss(), 2.5) << "of the stage with the head";
  EXPECT_EQ(job->seconds(), 1.0) << "of the slowest rank";
  EXPECT_EQ(job->tokens(), 1000);
  EXPECT_EQ(job->tokens_per_second(), 1000);
  EXPECT_EQ(job->model_flops(), 6e9);
  EXPECT_DOUBLE_EQ(job->mfu(), 0.3);
  EXPECT_EQ(job->gradient_norm(), 1.5);
  EXPECT_THAT(job->peak_bytes_per_rank(), ElementsAre(100, 200));
}

TEST(StepAggregator, PhasesAreTheMeanOfTheRanksWhereAllTellThem) {
  StepAggregator steps(2, std::nullopt);
  v1alpha1::StepReport first = report(1, 1.0, 100, 2.5);
  first.mutable_phase_seconds()->set_forward(0.5);
  first.mutable_phase_seconds()->set_idle(0.5);
  v1alpha1::StepReport second = first;
  second.mutable_phase_seconds()->set_forward(1);
  second.mutable_phase_seconds()->set_idle(0);
  steps.add(1, 0, first);
  const auto whole = steps.add(1, 1, second);
  EXPECT_EQ(whole->job.phase_seconds().forward(), 0.75);
  EXPECT_EQ(whole->job.phase_seconds().idle(), 0.25);
  EXPECT_EQ(whole->job.phase_seconds().data(), 0);

  steps.add(1, 0, report(2, 1.0, 100, 2.5));
  second.set_step(2);
  EXPECT_FALSE(steps.add(1, 1, second)->job.has_phase_seconds());
}

TEST(StepAggregator, WithoutAPeakThereIsNoMfu) {
  EXPECT_FALSE(StepAggregator(1, std::nullopt).add(1, 0, report(1, 1.0, 1, 2.0))->job.has_mfu());
}

TEST(StepAggregator, ALossThatNobodyReportsIsNotANumber) {
  EXPECT_TRUE(std::isnan(StepAggregator(1, std::nullopt).add(1, 0, report(1, 1.0, 1))->job.loss()));
}

TEST(StepAggregator, AGradientNormThatIsNotFiniteIsNotANumber) {
  StepAggregator steps(2, std::nullopt);
  v1alpha1::StepReport skipped = report(1, 1.0, 1);
  skipped.set_gradient_norm(std::numeric_limits<double>::infinity());
  skipped.set_skipped(true);
  skipped = from_json<v1alpha1::StepReport>(to_json(skipped)).value();  // as it comes from a rank
  steps.add(1, 0, skipped);
  const auto whole = steps.add(1, 1, skipped);
  EXPECT_TRUE(std::isnan(whole->job.gradient_norm()));
  EXPECT_TRUE(whole->job.skipped());
  steps.add(1, 0, report(2, 1.0, 1));
  EXPECT_EQ(steps.add(1, 1, report(2, 1.0, 1))->job.gradient_norm(), 1.5);
}

TEST(StepAggregator, RanksMayRunAheadOfEachOther) {
  StepAggregator steps(2, std::nullopt);
  EXPECT_FALSE(steps.add(1, 0, report(1, 1, 1, 3.0)));
  EXPECT_FALSE(steps.add(1, 0, report(2, 1, 1, 2.0)));
  EXPECT_EQ(steps.add(1, 1, report(1, 1, 1))->job.loss(), 3.0);
  EXPECT_EQ(steps.add(1, 1, report(2, 1, 1))->job.loss(), 2.0);
}

TEST(StepAggregator, AWholeStepHasTheWorkOfEachRank) {
  StepAggregator steps(2, std::nullopt);
  v1alpha1::StepReport slow = report(1, 1, 1);
  slow.set_work_seconds(0.75);
  steps.add(1, 1, slow);
  v1alpha1::StepReport fast = report(1, 1, 1);
  fast.set_work_seconds(0.5);
  EXPECT_THAT(steps.add(1, 0, fast)->work_seconds, ElementsAre(0.5, 0.75));
}

TEST(StepAggregator, AReportThatComesTwiceCountsOnce) {
  StepAggregator steps(2, std::nullopt);
  EXPECT_FALSE(steps.add(1, 0, report(1, 1, 1)));
  EXPECT_FALSE(steps.add(1, 0, report(1, 1, 1)));
  EXPECT_TRUE(steps.add(1, 1, report(1, 1, 1)));
}

TEST(StepAggregator, ARankThatNeverReportsCostsBoundedMemory) {
  StepAggregator steps(2, std::nullopt);
  for (int step = 1; step <= 1000; ++step) EXPECT_FALSE(steps.add(1, 0, report(step, 1, 1)));
  EXPECT_FALSE(steps.add(1, 1, report(1, 1, 1))) << "forgotten long ago";
  EXPECT_TRUE(steps.add(1, 1, report(1000, 1, 1)));
}

v1alpha1::JobReport step_report(int step) {
  v1alpha1::JobReport report;
  report.mutable_step()->set_step(step);
  return report;
}

TEST(ReportQueue, DropsTheOldestStepsAndNeverAnEvent) {
  ReportQueue queue;
  v1alpha1::JobReport event;
  event.mutable_event()->set_reason("RankFailed");
  const int steps = static_cast<int>(ReportQueue::kMaxSteps);
  for (int step = 1; step <= steps; ++step) {
    queue.push_back(step_report(step));
    if (step == 2) queue.push_back(event);
  }
  for (int step = steps + 1; step <= steps + 3; ++step) queue.push_back(step_report(step));

  std::vector<int> first;
  for (int i = 0; i < 3; ++i, queue.pop_front())
    first.push_back(queue.front().has_event() ? -1 : queue.front().step().step());
  EXPECT_THAT(first, ElementsAre(-1, 4, 5)) << "the event stays, steps 1 to 3 are gone";
}

TEST(ReportQueue, WhatIsReadMakesRoom) {
  ReportQueue queue;
  for (int step = 0; step < 3 * static_cast<int>(ReportQueue::kMaxSteps); ++step) {
    queue.push_back(step_report(step));
    queue.pop_front();
  }
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace caravan::agent
