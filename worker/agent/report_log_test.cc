#include "worker/agent/report_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/file_contents.h"
#include "common/json.h"
#include "common/testing/temporary_folder.h"
#include "worker/agent/testing/captured_log.h"
#include "worker/agent/testing/scripted_job.h"

namespace caravan::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

v1alpha1::JobReport step(int number) {
  v1alpha1::JobReport report;
  report.mutable_step()->set_step(number);
  report.mutable_step()->set_loss(2.5);
  report.mutable_step()->set_seconds(1);
  return report;
}

v1alpha1::JobPlan job_of_four_steps(int log_every_seconds) {
  v1alpha1::JobPlan job = testing::scripted_job(1, 1, 4);
  job.mutable_spec()->set_log_every_seconds(log_every_seconds);
  return job;
}

TEST(ReportLog, StepsAreAsFarApartAsIsAskedForButForTheLast) {
  const testing::CapturedLog captured;
  ReportLog log(job_of_four_steps(3600));
  for (int number = 1; number <= 4; ++number) log.tell(step(number));
  EXPECT_EQ(captured.text(),
            "info step 1/4  loss 2.5000  grad_norm 0.00  lr 0.0e0  eta 3.0s\n"
            "info step 4/4  loss 2.5000  grad_norm 0.00  lr 0.0e0  eta 0.0s\n");
}

TEST(ReportLog, WhatIsLeftIsGuessedByAllSteps) {
  const testing::CapturedLog captured;
  ReportLog log(job_of_four_steps(0));
  v1alpha1::JobReport evaluated = step(2);
  evaluated.mutable_step()->set_seconds(40);
  evaluated.mutable_step()->set_mean_seconds(1.5);
  log.tell(evaluated);
  EXPECT_THAT(captured.text(), HasSubstr("eta 3.0s"));
}

TEST(ReportLog, EveryStepIsWrittenFromWhenThatIsAskedFor) {
  const testing::CapturedLog captured;
  ReportLog log(job_of_four_steps(3600));
  for (const int number : {1, 2}) log.tell(step(number));
  log.follow(job_of_four_steps(0).spec());
  log.tell(step(3));
  EXPECT_THAT(captured.text(),
              AllOf(HasSubstr("step 1/4"), Not(HasSubstr("step 2/4")), HasSubstr("step 3/4")));
}

TEST(ReportLog, AnAttemptBeginsWithALineOfItsOwn) {
  const testing::CapturedLog captured;
  ReportLog log(job_of_four_steps(3600));
  log.tell(step(1));
  v1alpha1::JobReport report;
  report.mutable_attempt_started()->set_attempt(2);
  log.tell(report);
  log.tell(step(2));
  EXPECT_THAT(captured.text(), HasSubstr("step 2/4"));
}

TEST(ReportLog, WhatHappensIsWritten) {
  const testing::CapturedLog captured;
  ReportLog log(testing::scripted_job(1, 1, 4));
  v1alpha1::JobReport saved;
  saved.mutable_checkpoint()->mutable_report()->set_outcome(v1alpha1::CheckpointReport::Failed);
  saved.mutable_checkpoint()->mutable_report()->set_step(3);
  saved.mutable_checkpoint()->mutable_report()->set_message("the disk is full");
  log.tell(saved);
  v1alpha1::JobReport event;
  event.mutable_event()->set_reason("RankFailed");
  event.mutable_event()->set_message(
      "rank 1 died \x1B[2J\xC2\x9B"
      "first");
  log.tell(event);
  EXPECT_EQ(captured.text(),
            "info CheckpointFailed: step 3 has no checkpoint: the disk is full\n"
            "warning RankFailed: rank 1 died [2Jfirst\n")
      << "without what moves the cursor";
}

TEST(ResultFile, TellsOfTheLastStepAndOfTheLastCheckpointThatIsComplete) {
  const test::TemporaryFolder folder;
  ResultFile file(folder.path() / "result");
  file.tell(step(4));
  v1alpha1::JobReport saved;
  saved.mutable_checkpoint()->set_attempt(2);
  v1alpha1::CheckpointReport& checkpoint = *saved.mutable_checkpoint()->mutable_report();
  for (const auto& [outcome, number] : {std::pair(v1alpha1::CheckpointReport::Resumed, 2),
                                        {v1alpha1::CheckpointReport::Written, 3},
                                        {v1alpha1::CheckpointReport::Failed, 4}}) {
    checkpoint.set_outcome(outcome);
    checkpoint.set_step(number);
    checkpoint.set_path(std::string(4096, 'p'));
    file.tell(saved);
  }
  v1alpha1::JobReport ended;
  ended.mutable_result()->set_result("Complete");
  file.tell(ended);
  const std::string text = file_contents(folder.path() / "result").value();
  EXPECT_LT(text.size(), 1024U);
  const auto result = from_json<v1alpha1::JobResult>(text).value();
  EXPECT_EQ(result.last_step().step(), 4);
  EXPECT_EQ(result.last_checkpoint().attempt(), 2);
  EXPECT_EQ(result.last_checkpoint().report().step(), 3);
}

}  // namespace
}  // namespace caravan::agent
