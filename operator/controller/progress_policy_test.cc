#include "operator/controller/progress_policy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/schema/field_rules.h"
#include "operator/api/conditions.h"
#include "operator/testing/jobs.h"
#include "operator/view/progress_status.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;

TEST(ProgressPolicy, ALossThatIsNoNumberIsShownAsSuch) {
  for (const auto& [loss, shown] :
       {std::pair(std::nan(""), "NaN"), {-HUGE_VAL, "-Infinity"}, {HUGE_VAL, "Infinity"}}) {
    v1alpha1::JobStatus status;
    JobProgress progress{.attempt = 1};
    progress.step.emplace().set_step(1);
    progress.step->set_loss(loss);
    show_progress(job().spec, progress, false, kStart, status);
    EXPECT_EQ(status.progress().loss(), shown);
  }
}

TEST(ProgressPolicy, BeforeTheFirstStepNoColumnIsBlank) {
  v1alpha1::JobStatus status;
  announce_steps(job().spec, status);
  EXPECT_TRUE(status.progress().has_percent());
  EXPECT_EQ(status.progress().mfu_percent(), "-");
  JobProgress progress{.attempt = 1};
  progress.step.emplace();
  progress.step->set_step(1);
  show_progress(job().spec, progress, false, kStart, status);
  EXPECT_EQ(status.progress().step(), 1);
  EXPECT_EQ(status.progress().mfu_percent(), "-") << "the peak of the device is not known";
}

TEST(ProgressPolicy, SpeedIsThatOfAUsualStepAlsoAtTheEnd) {
  v1alpha1::JobStatus status;
  JobProgress progress{.attempt = 1};
  v1alpha1::JobStep& step = progress.step.emplace();
  step.set_step(90);
  step.set_seconds(40);
  step.set_tokens_per_second(100);
  step.set_mfu(0.01);
  const auto shown = [&] {
    status.Clear();
    show_progress(job().spec, progress, false, kStart, status);
    const v1alpha1::ProgressStatus& now = status.progress();
    return fmt::format("{} tokens/s, MFU {}, {} s left", now.tokens_per_second(), now.mfu_percent(),
                       now.estimated_remaining_seconds());
  };
  EXPECT_EQ(shown(), "100 tokens/s, MFU 1.0, 400 s left") << "an agent of an earlier version";
  step.set_usual_seconds(1);
  step.set_mean_seconds(1.4);
  EXPECT_EQ(shown(), "4000 tokens/s, MFU 40.0, 14 s left");
}

TEST(ProgressPolicy, TheLastCompleteCheckpointIsShownWithItsFolder) {
  v1alpha1::JobReport report;
  v1alpha1::CheckpointReport& checkpoint = *report.mutable_checkpoint()->mutable_report();
  JobProgress progress{.attempt = 1};
  const auto tell = [&](v1alpha1::CheckpointReport::Outcome outcome, int step) {
    checkpoint.set_outcome(outcome);
    checkpoint.set_step(step);
    add_report(report, kStart, progress);
  };
  tell(v1alpha1::CheckpointReport::Written, 500);
  tell(v1alpha1::CheckpointReport::Failed, 1000);
  v1alpha1::JobStatus status;
  const Job with_checkpoints = job(R"(, "checkpoint": {"path": "mine", "claimName": "c"})");
  show_progress(with_checkpoints.spec, progress, false, kStart, status);
  EXPECT_EQ(status.last_checkpoint().step(), 500);
  EXPECT_EQ(status.last_checkpoint().path(), "mine/step-000500");
  EXPECT_EQ(status.last_checkpoint().time(), to_text(kStart));
}

TEST(ProgressPolicy, TheCheckpointsThatTheFolderKeepsAreShownAlsoByTheNextOperator) {
  const Job with_checkpoints = job(R"(, "checkpoint": {"path": "mine", "claimName": "c", "keepLast": 3})");
  v1alpha1::JobStatus status;
  const auto show = [&](std::vector<SavedStep> saved) {
    show_progress(with_checkpoints.spec, {.attempt = 1, .checkpoints = std::move(saved)}, true, kStart,
                  status);
    std::vector<int> steps;
    for (const auto& shown : status.checkpoints()) steps.push_back(shown.step());
    return steps;
  };
  status.mutable_last_checkpoint()->set_step(50);  // by an operator that knew no list
  EXPECT_EQ(show({{100, kStart}, {200, kStart + 60s}}), (std::vector{200, 100, 50}));
  EXPECT_EQ(show({{200, kStart + 60s}, {300, kStart + 120s}}), (std::vector{300, 200, 100}));
  EXPECT_EQ(show({{400, kStart + 180s}}), (std::vector{400, 300, 200})) << "another operator leads";
  EXPECT_EQ(status.checkpoints(1).time(), to_text(kStart + 120s));
  EXPECT_EQ(show({{250, kStart + 240s}}), (std::vector{250, 200})) << "trained again from an older one";
}

TEST(ProgressPolicy, AsManyCheckpointsAreShownAsTheDefinitionTakes) {
  const auto* list = v1alpha1::JobStatus::descriptor()->FindFieldByName("checkpoints");
  EXPECT_EQ(schema::rules_of(*list).max_items(), static_cast<int>(kMostCheckpointsShown));
}

TEST(ProgressPolicy, ASaveThatFailsIsAConditionUntilOneIsComplete) {
  v1alpha1::JobReport report;
  v1alpha1::CheckpointReport& checkpoint = *report.mutable_checkpoint()->mutable_report();
  JobProgress progress{.attempt = 1};
  v1alpha1::JobStatus status;
  const auto tell = [&](v1alpha1::CheckpointReport::Outcome outcome, int step, const std::string& message) {
    checkpoint.set_outcome(outcome);
    checkpoint.set_step(step);
    checkpoint.set_message(message);
    const bool news = add_report(report, kStart, progress);
    follow_saves(progress, 1, kStart, status);
    return news;
  };
  EXPECT_FALSE(tell(v1alpha1::CheckpointReport::Written, 500, ""));
  EXPECT_EQ(find_condition(status, conditions::kCheckpointFailing), nullptr);
  EXPECT_TRUE(tell(v1alpha1::CheckpointReport::Failed, 1000, "no space left"));
  EXPECT_TRUE(is_true(status, conditions::kCheckpointFailing));
  EXPECT_EQ(find_condition(status, conditions::kCheckpointFailing)->message(),
            "step 1000 has no checkpoint: no space left");
  EXPECT_FALSE(tell(v1alpha1::CheckpointReport::Failed, 1500, "no space left")) << "told already";
  EXPECT_TRUE(tell(v1alpha1::CheckpointReport::Written, 2000, ""));
  EXPECT_FALSE(is_true(status, conditions::kCheckpointFailing));
}

TEST(ProgressPolicy, AnAttemptThatGoesOnFromACheckpointSaysSo) {
  v1alpha1::JobReport report;
  report.mutable_checkpoint()->set_attempt(2);
  report.mutable_checkpoint()->mutable_report()->set_outcome(v1alpha1::CheckpointReport::Resumed);
  report.mutable_checkpoint()->mutable_report()->set_step(500);
  JobProgress progress{.attempt = 1};
  progress.step.emplace().set_step(520);
  EXPECT_TRUE(add_report(report, kStart, progress));
  EXPECT_FALSE(progress.step) << "of the attempt before";
  v1alpha1::JobStatus status;
  const auto running = [&] {
    follow_attempts(job().spec, progress, {}, 1, kStart, status);
    return find_condition(status, conditions::kRunning)->message();
  };
  EXPECT_EQ(running(), "attempt 2: the ranks start, from the checkpoint of step 500 on");
  progress.step.emplace().set_step(501);
  EXPECT_EQ(running(), "attempt 2 makes steps, from the checkpoint of step 500 on");
}

TEST(ProgressPolicy, StepsAreShownEveryHalfMinute) {
  v1alpha1::JobStatus status;
  JobProgress progress{.attempt = 1};
  progress.step.emplace();
  progress.step->set_step(1);
  EXPECT_FALSE(show_progress(job().spec, progress, false, kStart, status));
  progress.step->set_step(2);
  EXPECT_EQ(show_progress(job().spec, progress, false, kStart + 10s, status), 20s);
  EXPECT_EQ(status.progress().step(), 1);
  show_progress(job().spec, progress, false, kStart + 30s, status);
  EXPECT_EQ(status.progress().step(), 2);
  EXPECT_EQ(status.progress().percent(), 2);
}

}  // namespace
}  // namespace caravan::controller::testing
