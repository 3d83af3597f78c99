#include "cli/run/json_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "cli/run/summary.h"

namespace caravan::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

v1alpha1::JobStep some_step() {
  v1alpha1::JobStep step;
  step.set_attempt(1);
  step.set_step(10);
  step.set_loss(7.123456789012345);
  step.set_gradient_norm(1.2);
  step.set_learning_rate(3e-4);
  step.set_tokens_per_second(7123);
  step.set_mfu(0.417);
  step.add_peak_bytes_per_rank(42000000000);
  step.add_peak_bytes_per_rank(43000000000);
  step.set_seconds(0.92);
  return step;
}

TEST(JsonLines, AStepHasTheDocumentedKeysInOrder) {
  EXPECT_EQ(step_json(some_step(), 1000),
            "{\"type\":\"step\",\"attempt\":1,\"step\":10,\"steps\":1000,\"loss\":7.123456789012345,"
            "\"gradNorm\":1.2,"
            "\"learningRate\":3e-04,\"tokensPerSecond\":7123,\"mfu\":0.417,\"peakBytes\":43000000000,"
            "\"seconds\":0.92}\n");
}

TEST(JsonLines, WhatIsUnknownOrNotFiniteIsNull) {
  v1alpha1::JobStep step = some_step();
  step.clear_mfu();
  step.clear_peak_bytes_per_rank();
  step.set_loss(std::numeric_limits<double>::infinity());
  step.set_gradient_norm(std::numeric_limits<double>::quiet_NaN());
  const std::string line = step_json(step, 1000);
  EXPECT_THAT(line, HasSubstr("\"loss\":null,\"gradNorm\":null,"));
  EXPECT_THAT(line, HasSubstr("\"mfu\":null,\"peakBytes\":null,"));
}

TEST(JsonLines, LossesReadBackToTheSameBits) {
  v1alpha1::JobStep step = some_step();
  for (const double loss : {1.0 / 3, 5.545177444479562, 4.9e-324, 1.7976931348623157e308}) {
    step.set_loss(loss);
    const std::string line = step_json(step, 1000);
    const std::size_t at = line.find("\"loss\":") + 7;
    EXPECT_EQ(std::strtod(line.c_str() + at, nullptr), loss) << line;
  }
}

TEST(JsonLines, AValidationLossComesOnlyWithTheStepsThatHaveOne) {
  v1alpha1::JobStep step = some_step();
  EXPECT_THAT(step_json(step, 1), Not(HasSubstr("validationLoss")));
  step.set_validation_loss(6.5);
  EXPECT_THAT(step_json(step, 1), EndsWith(",\"validationLoss\":6.5}\n"));
}

TEST(JsonLines, AStepThatWasLeftOutSaysSo) {
  v1alpha1::JobStep step = some_step();
  step.set_skipped(true);
  EXPECT_THAT(step_json(step, 1), EndsWith(",\"skipped\":true}\n"));
}

TEST(JsonLines, AnEventNamesItsRankOrNull) {
  v1alpha1::JobEvent event;
  event.set_reason("RankFailed");
  event.set_rank(3);
  event.set_message("rank 3 said \"no\"\nand died");
  EXPECT_EQ(event_json(event),
            "{\"type\":\"event\",\"reason\":\"RankFailed\",\"rank\":3,\"message\":\"rank 3 said "
            "\\\"no\\\"\\nand died\"}\n");
  event.set_rank(-1);
  EXPECT_THAT(event_json(event), HasSubstr("\"rank\":null"));
}

TEST(JsonLines, ACheckpointSaysWhatBecameOfIt) {
  v1alpha1::CheckpointReport checkpoint;
  checkpoint.set_outcome(v1alpha1::CheckpointReport::Written);
  checkpoint.set_step(500);
  checkpoint.set_path("checkpoints");
  checkpoint.set_seconds(1.5);
  checkpoint.set_stall_seconds(0.25);
  checkpoint.set_bytes(42);
  EXPECT_EQ(checkpoint_json(checkpoint),
            "{\"type\":\"checkpoint\",\"outcome\":\"Written\",\"step\":500,\"path\":\"checkpoints\","
            "\"seconds\":1.5,\"stallSeconds\":0.25,\"bytes\":42}\n");
  checkpoint.set_outcome(v1alpha1::CheckpointReport::Failed);
  checkpoint.set_bytes(0);
  checkpoint.set_message("no space");
  EXPECT_THAT(checkpoint_json(checkpoint), HasSubstr("\"stallSeconds\":0.25,\"message\":\"no space\"}"));
}

TEST(JsonLines, ThePlanIsThePlannersAnswerInOneLine) {
  v1alpha1::PlanReport report;
  report.mutable_plan()->set_tensor(2);
  report.mutable_plan()->set_peak_bytes(43000000000);
  const std::string line = plan_json(report);
  EXPECT_THAT(line, StartsWith("{\"type\":\"plan\",\"plan\":{\"tensor\":2,"));
  EXPECT_THAT(line, HasSubstr("\"peakBytes\":43000000000"));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

RunSummary finished_run() {
  RunSummary summary{.figures = {.steps = 2, .tokens_per_step = 4096, .predicted_peak_bytes = 1100},
                     .wall_seconds = 75};
  summary.result.set_result("Complete");
  summary.result.set_reason("StepsReached");
  for (int number = 1; number <= 2; ++number) {
    v1alpha1::JobStep step = some_step();
    step.clear_mfu();
    step.set_step(number);
    step.set_loss(6.0 - number);
    summary.tally.add(step);
  }
  return summary;
}

TEST(Summary, AsJsonHasTheDocumentedKeysInOrder) {
  EXPECT_EQ(summary_json(finished_run()),
            "{\"type\":\"summary\",\"result\":\"Complete\",\"steps\":2,\"resumedStep\":null,\"tokens\":8192,"
            "\"firstLoss\":5,"
            "\"lastLoss\":4,"
            "\"meanStepSeconds\":0.92,\"worstStepSeconds\":0.92,\"mfu\":null,\"restarts\":0,"
            "\"predictedPeakBytes\":1100,"
            "\"peakBytesPerRank\":[42000000000,43000000000],\"reason\":\"StepsReached\"}\n");
}

TEST(Summary, AsTextTellsTheSame) {
  const std::string text = summary_text(finished_run(), {});
  EXPECT_THAT(text, StartsWith("Complete: 2 of 2 steps, 8,192 tokens in 1m15s\n"));
  EXPECT_THAT(text, HasSubstr("first 5.0000, last 4.0000"));
  EXPECT_THAT(text, HasSubstr("mean 0.920 s, worst 0.920 s"));
  EXPECT_THAT(text, HasSubstr("rank 0 39.1 GiB, rank 1 40.0 GiB; predicted 1.1 KiB"));
  EXPECT_THAT(text, HasSubstr("restarts     0"));
  EXPECT_THAT(text, Not(HasSubstr("mfu")));
}

TEST(Summary, OfARunThatGoesOnCountsItsOwnTokens) {
  RunSummary summary{.figures = {.steps = 25, .tokens_per_step = 4096}, .wall_seconds = 75};
  summary.result.set_result("Complete");
  summary.tally.resume_after(20);
  v1alpha1::JobStep step = some_step();
  step.set_step(25);
  summary.tally.add(step);
  EXPECT_THAT(summary_text(summary, {}), StartsWith("Complete: 25 of 25 steps, 20,480 tokens in 1m15s\n"));
  EXPECT_THAT(summary_json(summary), HasSubstr("\"steps\":25,\"resumedStep\":20,\"tokens\":20480,"));
  summary.tally.resume_after(15);
  EXPECT_THAT(summary_json(summary), HasSubstr("\"tokens\":0,"));
  step.set_attempt(2);
  summary.tally.add(step);
  EXPECT_THAT(summary_json(summary), HasSubstr("\"steps\":25,\"resumedStep\":20,\"tokens\":40960,"))
      << "a restart went on from an earlier step";
}

TEST(Summary, OfAFailedRunSaysWhyAndWhereTheLogsAre) {
  RunSummary summary{.figures = {.steps = 10}, .log_directory = "/tmp/logs"};
  summary.result.set_result("Failed");
  summary.result.set_reason("MaxRestartsReached");
  summary.result.set_message("rank 1 was killed by signal 9");
  const std::string text = summary_text(summary, {});
  EXPECT_THAT(text, HasSubstr("Failed: 0 of 10 steps"));
  EXPECT_THAT(text, HasSubstr("rank 1 was killed by signal 9"));
  EXPECT_THAT(text, HasSubstr("/tmp/logs"));
  const std::string json = summary_json(summary);
  EXPECT_THAT(json, HasSubstr("\"firstLoss\":null"));
  EXPECT_THAT(json, HasSubstr("\"reason\":\"MaxRestartsReached: rank 1 was killed by signal 9\""));
}

TEST(Summary, LeavesTheLinesOfALogToTheMessageThatCameBefore) {
  RunSummary summary{.figures = {.steps = 10}, .log_directory = {}};
  summary.result.set_result("Failed");
  summary.result.set_message("rank 1 died; look at 10.0.0.1. Last lines of its log:\n  out of luck");
  EXPECT_THAT(summary_text(summary, {}), HasSubstr("  reason       rank 1 died; look at 10.0.0.1\n"));
}

}  // namespace
}  // namespace caravan::cli
