#include "worker/agent/metrics.h"

#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <thread>

#include "common/process.h"
#include "common/testing/checkout.h"
#include "common/testing/temporary_folder.h"
#include "proto/caravan/v1alpha1/step_phases.h"
#include "worker/agent/testing/scripted_job.h"
#include "worker/agent/unix_seconds.h"

namespace caravan::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Two ranks in two stages on one node; the device's speed and memory are known.
v1alpha1::JobPlan known_job() {
  v1alpha1::JobPlan job = testing::scripted_job(1, 1, 10);
  job.mutable_spec()->mutable_checkpoint()->set_path("checkpoints");
  v1alpha1::Plan& plan = *job.mutable_plan();
  plan.set_pipeline(2);
  plan.set_device_peak_flops(1e9);
  plan.set_usable_bytes(8'000);
  plan.set_mfu(0.5);
  plan.add_peak_bytes_per_stage(5'000);
  plan.add_peak_bytes_per_stage(6'000);
  return job;
}

v1alpha1::RankUpdate step_update(int rank, int step) {
  v1alpha1::RankUpdate update;
  update.set_rank(rank);
  v1alpha1::StepReport& report = *update.mutable_report()->mutable_step();
  report.set_step(step);
  if (rank == 1) report.set_loss(2.5);
  if (rank == 1) report.set_validation_loss(2.75);
  report.set_gradient_norm(1.25);
  report.set_learning_rate(0.001);
  report.set_seconds(2);
  report.set_rank_tokens(32);
  report.set_model_flops(5e8);
  report.set_hardware_flops(7e8);
  report.set_allocated_bytes(3'000);
  report.set_reserved_bytes(4'000);
  report.set_peak_bytes(4'500);
  for (const StepPhase& phase : kStepPhases) (report.mutable_phase_seconds()->*phase.set)(0.5);
  for (const char* axis : {"tensor", "data", "pipeline", "embedding"}) {
    for (const char* operation : {"all_reduce", "all_gather", "reduce_scatter", "send", "recv"}) {
      v1alpha1::CollectiveCount& collective = *report.add_collectives();
      collective.set_operation(operation);
      collective.set_axis(axis);
      collective.set_bytes(100);
      collective.set_seconds(0.25);
    }
  }
  return update;
}

v1alpha1::RankUpdate checkpoint_update(v1alpha1::CheckpointReport::Outcome outcome) {
  v1alpha1::RankUpdate update;
  v1alpha1::CheckpointReport& report = *update.mutable_report()->mutable_checkpoint();
  report.set_outcome(outcome);
  report.set_step(500);
  report.set_seconds(2.5);
  report.set_bytes(1'000'000);
  return update;
}

v1alpha1::RankUpdate interlude_update(bool goes_on = false) {
  v1alpha1::RankUpdate update;
  update.mutable_report()->mutable_interlude()->set_delayed_step(2);
  update.mutable_report()->mutable_interlude()->set_goes_on(goes_on);
  return update;
}

GpuState gpu_at_its_limit() {
  GpuState gpu;
  gpu.index = 3;
  gpu.power_watts = 698.5;
  gpu.throttle_reasons = 0x4;
  return gpu;
}

class MetricsTest : public ::testing::Test {
 protected:
  void a_checkpoint() { metrics_.observe(checkpoint_update(v1alpha1::CheckpointReport::Written)); }
  void two_steps_of_both_ranks() {
    for (const int step : {1, 2}) {
      for (const int rank : {0, 1}) metrics_.observe(step_update(rank, step));
    }
  }
  static v1alpha1::RankSlowdowns slowdowns(double first, double second) {
    v1alpha1::RankSlowdowns slowdowns;
    slowdowns.add_ratios(first);
    slowdowns.add_ratios(second);
    return slowdowns;
  }
  Metrics metrics_{known_job(), 0, /*local=*/true};
};

TEST_F(MetricsTest, CountersAddUpOverSteps) {
  two_steps_of_both_ranks();
  EXPECT_THAT(
      metrics_.text(),
      AllOf(HasSubstr("caravan_tokens_total{job=\"scripted\",rank=\"0\"} 64\n"),
            HasSubstr("caravan_steps_total{job=\"scripted\",rank=\"1\"} 2\n"),
            HasSubstr("caravan_model_flops_total{job=\"scripted\",rank=\"1\"} 1000000000\n"),
            HasSubstr("caravan_phase_seconds_total{job=\"scripted\",phase=\"forward\",rank=\"0\"} 1\n"),
            HasSubstr(
                "caravan_collective_bytes_total{job=\"scripted\",axis=\"data\",op=\"all_reduce\"} 400\n")));
}

TEST_F(MetricsTest, CountersAreThereBeforeTheFirstStepSoThatARateCountsIt) {
  EXPECT_THAT(
      metrics_.text(),
      AllOf(HasSubstr("caravan_tokens_total{job=\"scripted\",rank=\"0\"} 0\n"),
            HasSubstr("caravan_model_flops_total{job=\"scripted\",rank=\"1\"} 0\n"),
            HasSubstr("caravan_hardware_flops_total{job=\"scripted\",rank=\"1\"} 0\n"),
            HasSubstr("caravan_phase_seconds_total{job=\"scripted\",phase=\"idle\",rank=\"1\"} 0\n")));
}

TEST_F(MetricsTest, GaugesHoldTheLastStepAndThePrediction) {
  two_steps_of_both_ranks();
  EXPECT_THAT(
      metrics_.text(),
      AllOf(HasSubstr("caravan_mfu_ratio{job=\"scripted\",rank=\"0\"} 0.25\n"),
            HasSubstr("caravan_device_memory_peak_bytes{job=\"scripted\",rank=\"0\"} 4500\n"),
            HasSubstr("caravan_device_memory_limit_bytes{job=\"scripted\",rank=\"0\"} 8000\n"),
            HasSubstr("caravan_predicted_memory_peak_bytes{job=\"scripted\",rank=\"1\"} 6000\n"),
            HasSubstr("caravan_device_peak_flops{job=\"scripted\",dtype=\"bf16\",rank=\"0\"} 1000000000\n")));
}

TEST_F(MetricsTest, AGpuShowsWhatItsDriverTells) {
  metrics_.observe(std::vector{gpu_at_its_limit()});
  const std::string text = metrics_.text();
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("caravan_device_power_watts{job=\"scripted\",device=\"3\"} 698.5\n"),
            HasSubstr("caravan_device_throttled{job=\"scripted\",device=\"3\",reason=\"power_cap\"} 1\n"),
            HasSubstr("caravan_device_throttled{job=\"scripted\",device=\"3\",reason=\"thermal\"} 0\n"),
            Not(HasSubstr("caravan_device_temperature_celsius"))));
}

TEST_F(MetricsTest, WhatADriverTellsNoMoreHasNoSeries) {
  GpuState stays = gpu_at_its_limit();
  stays.index = 0;
  metrics_.observe(std::vector{stays, gpu_at_its_limit()});
  EXPECT_THAT(metrics_.text(), AllOf(HasSubstr("device=\"0\""), HasSubstr("device=\"3\"")));
  stays.throttle_reasons.reset();
  metrics_.observe(std::vector{stays});
  EXPECT_THAT(metrics_.text(),
              AllOf(HasSubstr("caravan_device_power_watts{job=\"scripted\",device=\"0\"} 698.5\n"),
                    Not(HasSubstr("device=\"3\"")), Not(HasSubstr("caravan_device_throttled{"))));
}

TEST_F(MetricsTest, OneRankSpeaksForTheLossOfTheJob) {
  two_steps_of_both_ranks();
  const std::string text = metrics_.text();
  EXPECT_THAT(text, AllOf(HasSubstr("caravan_loss{job=\"scripted\",rank=\"1\"} 2.5\n"),
                          HasSubstr("caravan_validation_loss{job=\"scripted\",rank=\"1\"} 2.75\n"),
                          HasSubstr("caravan_predicted_mfu_ratio{job=\"scripted\",rank=\"1\"} 0.5\n"),
                          HasSubstr("caravan_step_duration_seconds_count{job=\"scripted\",rank=\"1\"} 2\n"),
                          Not(HasSubstr("caravan_loss{job=\"scripted\",rank=\"0\"}"))));
}

TEST_F(MetricsTest, CheckpointsAreTimedAndThoseThatFailAreCounted) {
  EXPECT_THAT(metrics_.text(), HasSubstr("caravan_checkpoint_failures_total{job=\"scripted\"} 0\n"));
  metrics_.observe(checkpoint_update(v1alpha1::CheckpointReport::Resumed));
  metrics_.observe(checkpoint_update(v1alpha1::CheckpointReport::Failed));
  EXPECT_THAT(metrics_.text(), Not(HasSubstr("last_success")));
  a_checkpoint();
  EXPECT_THAT(metrics_.text(),
              AllOf(HasSubstr("caravan_checkpoint_failures_total{job=\"scripted\"} 1\n"),
                    HasSubstr("caravan_checkpoint_duration_seconds_count{job=\"scripted\"} 2\n"),
                    HasSubstr("caravan_checkpoint_duration_seconds_sum{job=\"scripted\"} 5\n"),
                    HasSubstr("caravan_checkpoint_last_step{job=\"scripted\"} 500\n"),
                    HasSubstr("caravan_checkpoint_bytes{job=\"scripted\"} 1000000\n"),
                    HasSubstr("caravan_checkpoint_last_success_timestamp_seconds{job=\"scripted\"} ")));
}

TEST(Metrics, TheLongestTimeBetweenCheckpointsIsWhatTheJobMeans) {
  const std::string series = "caravan_checkpoint_interval_seconds{job=\"scripted\"} ";
  v1alpha1::JobPlan job = known_job();
  EXPECT_THAT(Metrics(job, 0, true).text(), HasSubstr(series + "3600\n")) << "the trainer chooses";
  job.mutable_spec()->mutable_checkpoint()->set_every_seconds(7200);
  EXPECT_THAT(Metrics(job, 0, true).text(), HasSubstr(series + "7200\n"));
  job.mutable_spec()->mutable_checkpoint()->clear_every_seconds();
  job.mutable_spec()->mutable_checkpoint()->set_every_steps(100);
  Metrics by_steps(job, 0, true);
  EXPECT_THAT(by_steps.text(), Not(HasSubstr(series))) << "before the first step";
  by_steps.observe(step_update(0, 1));
  EXPECT_THAT(by_steps.text(), HasSubstr(series + "200\n")) << "steps take two seconds";
  job.mutable_spec()->clear_checkpoint();
  EXPECT_THAT(Metrics(job, 0, true).text(), Not(HasSubstr("caravan_checkpoint")));
}

TEST_F(MetricsTest, AGradientNormThatIsNotFiniteIsNotANumber) {
  v1alpha1::RankUpdate update = step_update(1, 1);
  metrics_.observe(update);
  EXPECT_THAT(metrics_.text(), HasSubstr("caravan_grad_norm{job=\"scripted\",rank=\"1\"} 1.25\n"));
  update.mutable_report()->mutable_step()->clear_gradient_norm();
  metrics_.observe(update);
  EXPECT_THAT(metrics_.text(), HasSubstr("caravan_grad_norm{job=\"scripted\",rank=\"1\"} Nan\n"));
}

TEST_F(MetricsTest, ALossThatIsNotFiniteIsNotANumber) {
  two_steps_of_both_ranks();
  for (const int rank : {0, 1}) {
    v1alpha1::RankUpdate update = step_update(rank, 3);
    update.mutable_report()->mutable_step()->clear_loss();
    metrics_.observe(update);
  }
  EXPECT_THAT(metrics_.text(), AllOf(HasSubstr("caravan_loss{job=\"scripted\",rank=\"1\"} Nan\n"),
                                     Not(HasSubstr("caravan_loss{job=\"scripted\",rank=\"0\"}"))));
}

TEST_F(MetricsTest, WhatDelaysAStepIsKnownByItsBeginning) {
  EXPECT_THAT(metrics_.text(), Not(HasSubstr("interlude")));
  metrics_.observe(interlude_update());
  EXPECT_THAT(metrics_.text(), HasSubstr("caravan_last_interlude_timestamp_seconds{job=\"scripted\"} "));
}

// Which of the announcements move the time at which a delay began.
TEST_F(MetricsTest, ADelayThatIsAnnouncedAgainBeganOnce) {
  const auto moves = [&](const v1alpha1::RankUpdate& update) {
    const std::string text = metrics_.text();
    for (const double before = unix_seconds(); unix_seconds() < before + 0.001;) std::this_thread::yield();
    metrics_.observe(update);
    return metrics_.text() != text;
  };
  EXPECT_TRUE(moves(interlude_update()));
  EXPECT_FALSE(moves(interlude_update(/*goes_on=*/true)));
  EXPECT_TRUE(moves(interlude_update())) << "a checkpoint behind an evaluation of the same step";
}

TEST_F(MetricsTest, HowSlowARankIsComesFromTheCoordinator) {
  metrics_.observe(slowdowns(0, 1.5));
  EXPECT_THAT(metrics_.text(),
              AllOf(HasSubstr("caravan_rank_slowdown_ratio{job=\"scripted\",rank=\"1\"} 1.5\n"),
                    Not(HasSubstr("caravan_rank_slowdown_ratio{job=\"scripted\",rank=\"0\"}"))));
  Metrics second_node(testing::scripted_job(2, 4, 1), 1, true);
  second_node.observe(slowdowns(0, 1.5));
  EXPECT_THAT(second_node.text(),
              HasSubstr("caravan_rank_slowdown_ratio{job=\"scripted\",rank=\"3\"} 1.5\n"));
}

TEST_F(MetricsTest, EveryMetricStandsInTheReferencePage) {
  two_steps_of_both_ranks();
  metrics_.observe(slowdowns(1, 1.5));
  metrics_.observe(interlude_update());
  metrics_.observe(std::vector{GpuState{.index = 0,
                                        .processor_clock_hertz = 1.7e9,
                                        .memory_clock_hertz = 2.6e9,
                                        .power_watts = 600,
                                        .power_limit_watts = 700,
                                        .temperature_celsius = 60,
                                        .throttle_reasons = 0}});
  a_checkpoint();
  std::stringstream page;
  page << std::ifstream(test::source_folder() + "/docs/reference/metrics.md").rdbuf();
  std::istringstream text(metrics_.text());
  std::string help;
  int metrics = 0;
  for (std::string line; std::getline(text, line);) {
    std::smatch match;
    if (std::regex_match(line, match, std::regex("# HELP \\S+ (.*)"))) help = match[1];
    if (!std::regex_match(line, match, std::regex("# TYPE (\\S+) (\\S+)"))) continue;
    EXPECT_THAT(page.str(),
                HasSubstr("| `" + match[1].str() + "` | " + match[2].str() + " | " + help + " |"));
    ++metrics;
  }
  const std::string rows = page.str();
  const std::regex row("\\| `caravan_");
  EXPECT_EQ(std::distance(std::sregex_iterator(rows.begin(), rows.end(), row), {}), metrics);
}

TEST_F(MetricsTest, StepsWithoutAFiniteLossAreCounted) {
  v1alpha1::RankUpdate update = step_update(1, 1);
  update.mutable_report()->mutable_step()->clear_loss();
  update.mutable_report()->mutable_step()->set_skipped(true);
  metrics_.observe(update);
  EXPECT_THAT(metrics_.text(), HasSubstr("caravan_nonfinite_steps_total{job=\"scripted\",rank=\"1\"} 1\n"));
}

TEST_F(MetricsTest, EndsForLackOfMemoryAreCounted) {
  v1alpha1::RankExit exit;
  exit.set_exit_code(1);
  metrics_.observe(exit);
  EXPECT_THAT(metrics_.text(), HasSubstr("caravan_oom_total{job=\"scripted\",rank=\"0\"} 0\n"));
  exit.mutable_failure()->set_reason("OutOfMemory");
  metrics_.observe(exit);
  exit.clear_failure();
  exit.set_out_of_memory(true);
  metrics_.observe(exit);
  EXPECT_THAT(metrics_.text(), HasSubstr("caravan_oom_total{job=\"scripted\",rank=\"0\"} 2\n"));
}

TEST_F(MetricsTest, ARankHasAtMostTwentyFiveSeries) {
  two_steps_of_both_ranks();
  metrics_.observe(slowdowns(1, 1.5));
  std::istringstream lines(metrics_.text());
  std::map<std::string, int> series;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (line.find("_bucket{") == std::string::npos &&
        std::regex_search(line, match, std::regex("rank=\"(\\d+)\""))) {
      ++series[match[1]];
    }
  }
  ASSERT_EQ(series.size(), 2U);
  for (const auto& [rank, count] : series) EXPECT_LE(count, rank == "0" ? 25 : 25 + 8) << "rank " << rank;
}

TEST(Metrics, WhatIsUnknownHasNoSeries) {
  Metrics metrics(testing::scripted_job(1, 1, 10), 0, true);
  metrics.observe(step_update(0, 1));
  for (const char* name : {"mfu", "device_peak_flops", "device_memory_limit_bytes", "predicted"}) {
    EXPECT_THAT(metrics.text(), Not(HasSubstr(name)));
  }
}

TEST(Metrics, OnAClusterSomebodyElseLabelsTheJob) {
  EXPECT_THAT(Metrics(known_job(), 0, false).text(),
              AllOf(HasSubstr("{rank=\"0\"}"), Not(HasSubstr("job="))));
}

TEST(Metrics, ANodeShowsItsOwnRanksOnly) {
  EXPECT_THAT(Metrics(testing::scripted_job(2, 4, 1), 1, true).text(),
              AllOf(HasSubstr("rank=\"2\""), HasSubstr("rank=\"3\""), Not(HasSubstr("rank=\"0\""))));
}

TEST_F(MetricsTest, PromtoolHasNoObjection) {
  if (std::system("promtool --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "promtool is not installed";
  two_steps_of_both_ranks();
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "metrics";
  std::ofstream(path) << metrics_.text();
  EXPECT_EQ(std::system(("promtool check metrics < " + path).c_str()), 0);
}

}  // namespace
}  // namespace caravan::agent
