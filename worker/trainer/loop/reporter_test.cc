#include "worker/trainer/loop/reporter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>

#include "caravan/v1alpha1/rank.pb.h"
#include "common/json.h"
#include "common/process.h"
#include "proto/caravan/v1alpha1/step_phases.h"

namespace caravan::trainer {
namespace {

std::string line_of(const std::function<void(const Reporter&)>& report) {
  Pipe pipe = make_pipe().value();
  report(Reporter(pipe.write_end.get()));
  pipe.write_end.reset();
  std::string line(1 << 16, '\0');
  line.resize(static_cast<std::size_t>(read(pipe.read_end.get(), line.data(), line.size())));
  return line;
}

TEST(Reporter, AStepIsOneLineThatReadsBackToTheSameNumbers) {
  StepRecord record;
  record.step = 7;
  record.loss = 0.1 + 0.2;
  record.phase_seconds[static_cast<std::size_t>(Phase::kBackward)] = 1.5;
  record.collectives.push_back({"all_reduce", "data", 4096, 0.25});
  record.allocated_bytes = 100;
  record.reserved_bytes = 128;
  const std::string line = line_of([&](const Reporter& reporter) { reporter.step(record); });
  EXPECT_EQ(line.find('\n'), line.size() - 1);

  const auto report = from_json<v1alpha1::RankReport>(line);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->step().loss(), 0.1 + 0.2);
  EXPECT_FALSE(report->step().has_validation_loss());
  EXPECT_EQ(report->step().phase_seconds().backward(), 1.5);
  EXPECT_EQ(report->step().collectives(0).axis(), "data");
  EXPECT_EQ(report->step().allocated_bytes(), 100);
  EXPECT_EQ(report->step().reserved_bytes(), 128);
}

TEST(Reporter, PhasesHaveTheNamesOfTheClock) {
  for (std::size_t i = 0; i < kPhases; ++i) EXPECT_EQ(kStepPhases[i].name, phase_name(static_cast<Phase>(i)));
}

TEST(Reporter, AFailureNamesItsReason) {
  const std::string line = line_of(
      [](const Reporter& reporter) { reporter.failed(FailureReason::NonFiniteLoss, "loss is \"nan\""); });
  const auto report = from_json<v1alpha1::RankReport>(line);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->failure().reason(), "NonFiniteLoss");
  EXPECT_EQ(report->failure().message(), "loss is \"nan\"");
}

TEST(Reporter, AFailureTellsTheUseOfMemoryThatGrewPastItsPlan) {
  const auto report = from_json<v1alpha1::RankReport>(line_of([](const Reporter& reporter) {
    reporter.failed(FailureReason::OutOfMemory, "no memory",
                    ShortageRecord{.term = "activations", .planned_bytes = 100, .used_bytes = 131});
  }));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->failure().shortage().term(), "activations");
  EXPECT_EQ(report->failure().shortage().planned_bytes(), 100);
  EXPECT_EQ(report->failure().shortage().used_bytes(), 131);
}

TEST(Reporter, AnActivitySaysWhatItsCheckpointWaitsFor) {
  const Saving saving{.doing = "committing the checkpoint of step 5",
                      .since = std::chrono::steady_clock::now() - std::chrono::seconds(60)};
  const auto report = from_json<v1alpha1::RankReport>(
      line_of([&](const Reporter& reporter) { reporter.activity({.phase = "checkpoint"}, saving); }));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->activity().phase(), "checkpoint");
  EXPECT_EQ(report->activity().saving().doing(), saving.doing);
  EXPECT_GE(report->activity().saving().seconds(), 60);
  EXPECT_LT(report->activity().seconds(), 60);
}

TEST(Reporter, TheTermsOfAFinishAddUpToItsPeak) {
  FinishRecord record;
  record.peak = {.parameters = 1,
                 .gradients = 2,
                 .optimizer = 4,
                 .activations = 8,
                 .logits = 16,
                 .workspace = 32,
                 .communication = 64};
  const auto report =
      from_json<v1alpha1::RankReport>(line_of([&](const Reporter& reporter) { reporter.finished(record); }));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->finished().peak_bytes(), 127);
  EXPECT_EQ(report->finished().peak_terms().logits(), 16);
}

}  // namespace
}  // namespace caravan::trainer
