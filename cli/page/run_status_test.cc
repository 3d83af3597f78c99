#include "cli/page/run_status.h"

#include <gtest/gtest.h>

#include "cli/page/run_events.h"
#include "operator/api/job_conditions.h"
#include "operator/api/names.h"
#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::cli {
namespace {

using namespace v1alpha1;
namespace conditions = controller::conditions;

constexpr TimePoint kNow{std::chrono::hours(490'000)};

class RunStatusTest : public ::testing::Test {
 protected:
  RunStatusTest() {
    spec_.mutable_training()->set_steps(10);
    spec_.mutable_checkpoint()->set_path("/checkpoints");
    plan_.set_tensor(1);
    plan_.set_pipeline(1);
    plan_.set_data(2);
    plan_.set_source("HeuristicSelected");
    plan_.set_reason("it is the fastest that fits");
    status_ = first_status(spec_, plan_, kNow);
  }
  void report(const JobReport& report) { show_report(spec_, report, kNow, status_); }
  void begin(int attempt) {
    JobReport started;
    started.mutable_attempt_started()->set_attempt(attempt);
    report(started);
  }
  void step(int attempt, int number) {
    JobReport made;
    made.mutable_step()->set_attempt(attempt);
    made.mutable_step()->set_step(number);
    made.mutable_step()->set_loss(2.5);
    made.mutable_step()->set_seconds(0.5);
    report(made);
  }
  static JobReport failure(bool restarting) {
    JobReport failed;
    failed.mutable_event()->set_reason(reasons::kRankFailed);
    failed.mutable_event()->set_rank(1);
    failed.mutable_event()->set_message("rank 1 was killed");
    failed.mutable_event()->set_restarting(restarting);
    failed.mutable_event()->set_counts(true);
    return failed;
  }
  static JobReport checkpoint(CheckpointReport::Outcome outcome, int step) {
    JobReport saved;
    saved.mutable_checkpoint()->mutable_report()->set_outcome(outcome);
    saved.mutable_checkpoint()->mutable_report()->set_step(step);
    saved.mutable_checkpoint()->mutable_report()->set_message("the disk is full");
    return saved;
  }
  void end(const char* result, const char* reason) {
    JobResult ended;
    ended.set_result(result);
    ended.set_reason(reason);
    ended.set_message("that is all");
    show_end(ended, kNow, status_);
  }
  bool is(const char* condition) const { return controller::is_true(status_, condition); }

  JobSpec spec_;
  Plan plan_;
  JobStatus status_;
};

TEST_F(RunStatusTest, BeginsWithThePlan) {
  EXPECT_EQ(status_.state(), "Starting");
  EXPECT_EQ(status_.layout(), "TP1 PP1 DP2");
  EXPECT_EQ(status_.plan().reason(), "it is the fastest that fits");
  EXPECT_EQ(status_.progress().steps(), 10);
  EXPECT_NE(status_.start_time(), "");
  EXPECT_TRUE(is(conditions::kPlanned));
}

TEST_F(RunStatusTest, ShowsStepsWithTheTimeThatIsLeft) {
  begin(1);
  EXPECT_EQ(status_.state(), "Running");
  step(1, 4);
  EXPECT_EQ(status_.progress().step(), 4);
  EXPECT_EQ(status_.progress().percent(), 40);
  EXPECT_EQ(status_.progress().loss(), "2.5");
  EXPECT_EQ(status_.progress().estimated_remaining_seconds(), 3);
}

TEST_F(RunStatusTest, AStepThatEvaluatesIsNotTheSpeedOfTheJob) {
  JobReport made;
  made.mutable_step()->set_step(5);
  made.mutable_step()->set_seconds(8);
  made.mutable_step()->set_tokens_per_second(100);
  made.mutable_step()->set_mfu(0.1);
  made.mutable_step()->set_usual_seconds(2);
  made.mutable_step()->set_mean_seconds(2.5);
  report(made);
  EXPECT_EQ(status_.progress().tokens_per_second(), "400");
  EXPECT_EQ(status_.progress().mfu_percent(), "40.0");
  EXPECT_EQ(status_.progress().estimated_remaining_seconds(), 13);
}

TEST_F(RunStatusTest, ShowsARestartUntilTheNextAttempt) {
  begin(1);
  step(1, 1);
  report(failure(true));
  EXPECT_EQ(status_.state(), "Restarting");
  EXPECT_EQ(status_.restarts(), 1);
  EXPECT_EQ(status_.counted_restarts(), 1);
  begin(2);
  EXPECT_EQ(status_.state(), "Running");
  EXPECT_EQ(status_.attempt(), 2);
}

TEST_F(RunStatusTest, ShowsTheLastCheckpointAndThatOneFailed) {
  begin(1);
  report(checkpoint(CheckpointReport::Written, 5));
  EXPECT_EQ(status_.last_checkpoint().path(), "/checkpoints/step-000005");
  report(checkpoint(CheckpointReport::Failed, 6));
  EXPECT_TRUE(is(conditions::kCheckpointFailing));
  EXPECT_EQ(status_.last_checkpoint().step(), 5);
  report(checkpoint(CheckpointReport::Written, 7));
  EXPECT_FALSE(is(conditions::kCheckpointFailing));
}

TEST_F(RunStatusTest, EndsAsTheRunDoes) {
  const struct {
    const char* result;
    const char* reason;
    const char* state;
  } cases[] = {{reasons::kComplete, "", "Complete"},
               {reasons::kFailed, reasons::kMaxRestartsReached, "Failed"},
               {reasons::kInterrupted, reasons::kStoppedByUser, "Interrupted"}};
  for (const auto& one : cases) {
    status_ = first_status(spec_, plan_, kNow);
    begin(1);
    report(failure(true));
    end(one.result, one.reason);
    EXPECT_EQ(status_.state(), one.state);
    EXPECT_FALSE(is(conditions::kRunning)) << one.result;
    EXPECT_NE(status_.completion_time(), "");
  }
}

TEST_F(RunStatusTest, TellsAsEventsWhatIsNeitherStepNorCheckpoint) {
  JobReport made;
  made.mutable_step()->set_step(1);
  EXPECT_FALSE(event_of(made, "llama", kNow));
  const auto failed = event_of(failure(true), "llama", kNow);
  EXPECT_EQ(failed->type(), "Warning");
  EXPECT_EQ(failed->about(), "Rank/1");
  EXPECT_FALSE(event_of(checkpoint(CheckpointReport::Written, 5), "llama", kNow));
  const auto unsaved = event_of(checkpoint(CheckpointReport::Failed, 5), "llama", kNow);
  EXPECT_EQ(unsaved->type(), "Warning");
  EXPECT_EQ(unsaved->about(), "LlamaTrainingJob/llama");
  EXPECT_EQ(event_of(checkpoint(CheckpointReport::Resumed, 5), "llama", kNow)->reason(), "Resumed");
  EXPECT_FALSE(event_of(checkpoint(CheckpointReport::Answered, 5), "llama", kNow));
}

}  // namespace
}  // namespace caravan::cli
