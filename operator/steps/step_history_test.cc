#include "operator/steps/step_history.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "caravan/v1alpha1/coordination.pb.h"
#include "caravan/v1alpha1/metrics.pb.h"

namespace caravan::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t kAll = 10'000;

std::vector<int> steps_of(const std::vector<StepSample>& samples) {
  std::vector<int> steps;
  for (const StepSample& sample : samples) steps.push_back(sample.at.step);
  return steps;
}

void add_steps(StepHistory& history, const std::string& job, int count) {
  for (int step = 1; step <= count; ++step) EXPECT_TRUE(history.add(job, {.at = {1, step}}));
}

TEST(StepHistory, AReaderGoesOnBehindWhatItHasRead) {
  StepHistory history;
  EXPECT_THAT(history.after("a", {}, kAll), IsEmpty());
  add_steps(history, "a", 5);
  EXPECT_THAT(steps_of(history.after("a", {}, kAll)), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(steps_of(history.after("a", {1, 3}, kAll)), ElementsAre(4, 5));
  EXPECT_THAT(steps_of(history.after("a", {}, 2)), ElementsAre(1, 2));
  EXPECT_THAT(history.after("b", {}, kAll), IsEmpty());
  history.forget("a");
  EXPECT_THAT(history.after("a", {}, kAll), IsEmpty());
}

TEST(StepHistory, AStepIsTakenOnceAndALaterAttemptTrainsItAgain) {
  StepHistory history;
  EXPECT_TRUE(history.add("a", {.at = {1, 7}}));
  EXPECT_FALSE(history.add("a", {.at = {1, 7}}));
  EXPECT_FALSE(history.add("a", {.at = {1, 6}}));
  EXPECT_TRUE(history.add("a", {.at = {2, 3}}));
  EXPECT_THAT(steps_of(history.after("a", {}, kAll)), ElementsAre(7, 3));
  EXPECT_THAT(steps_of(history.after("a", {1, 7}, kAll)), ElementsAre(3));
}

TEST(StepHistory, ALongCurveKeepsItsLengthAndItsLatestSteps) {
  StepHistory history({.samples = 1000, .most_of_a_job = 30});
  add_steps(history, "a", 1000);
  const std::vector<int> steps = steps_of(history.after("a", {}, kAll));
  EXPECT_LE(steps.size(), 30u);
  EXPECT_EQ(steps.front(), 1);
  const std::size_t latest = steps.size() - 10;
  for (std::size_t i = latest; i < steps.size(); ++i) EXPECT_EQ(steps[i], 991 + static_cast<int>(i - latest));
  const int stride = steps[1] - steps[0];
  for (std::size_t i = 1; i < latest; ++i) EXPECT_EQ(steps[i] - steps[i - 1], stride);
  EXPECT_GE(latest, 10u);
}

StepSample evaluated_sample(int step, int every) {
  StepSample sample{.at = {1, step}};
  if (step % every == 0) sample.validation_loss = 1;
  return sample;
}

TEST(StepHistory, ALongCurveKeepsItsValidationLossesBesideTheOtherSteps) {
  StepHistory history({.samples = 1000, .most_of_a_job = 30});
  for (int step = 1; step <= 1000; ++step) history.add("a", evaluated_sample(step, 100));
  std::vector<StepSample> kept = history.after("a", {}, kAll);
  EXPECT_LE(kept.size(), 30u);
  EXPECT_TRUE(std::ranges::is_sorted(kept, {}, &StepSample::at));
  EXPECT_THAT(steps_of(history.after("a", {1, 399}, 1)), ElementsAre(400));
  std::erase_if(kept, [](const StepSample& sample) { return std::isnan(sample.validation_loss); });
  EXPECT_THAT(steps_of(kept), ElementsAre(100, 200, 300, 400, 500, 600, 700, 800, 900, 1000));
}

TEST(StepHistory, ValidationLossesTakeHalfOfACurveAtMost) {
  for (const int every : {1, 2}) {
    StepHistory history({.samples = 1000, .most_of_a_job = 30});
    for (int step = 1; step <= 1000; ++step) history.add("a", evaluated_sample(step, every));
    EXPECT_LE(history.after("a", {}, kAll).size(), 30u) << "every " << every;
    EXPECT_GE(history.after("a", {}, kAll).size(), 15u) << "every " << every;
  }
}

TEST(StepHistory, ALongCurveKeepsTheFirstStepOfEachLaterAttempt) {
  StepHistory history({.samples = 1000, .most_of_a_job = 30});
  for (int attempt = 1; attempt <= 4; ++attempt) {
    for (int step = 37 * attempt; step < 37 * attempt + 250; ++step)
      history.add("a", {.at = {attempt, step}});
  }
  const std::vector<StepSample> kept = history.after("a", {}, kAll);
  EXPECT_LE(kept.size(), 30u);
  EXPECT_TRUE(std::ranges::is_sorted(kept, {}, &StepSample::at));
  for (int attempt = 2; attempt <= 4; ++attempt) {
    const auto first = std::ranges::find(kept, attempt, [](const StepSample& one) { return one.at.attempt; });
    ASSERT_NE(first, kept.end()) << "attempt " << attempt;
    EXPECT_EQ(first->at.step, 37 * attempt) << "attempt " << attempt;
  }
}

TEST(StepHistory, FirstStepsOfAttemptsTakeAQuarterOfACurveAtMost) {
  StepHistory history({.samples = 1000, .most_of_a_job = 30});
  for (int attempt = 1; attempt <= 500; ++attempt) {
    for (int step = 1; step <= 2; ++step) history.add("a", {.at = {attempt, step}});
  }
  const std::vector<int> steps = steps_of(history.after("a", {}, kAll));
  EXPECT_LE(steps.size(), 30u);
  EXPECT_LE(std::ranges::count(steps, 1), 5 + 5 + 1) << "in curves, of the latest, and the very first";
}

TEST(StepHistory, TheMoreJobsTheFewerSamplesEach) {
  StepHistory history({.samples = 606, .most_of_a_job = 100});
  for (int job = 0; job < 100; ++job) add_steps(history, std::to_string(job), 200);
  add_steps(history, "another", 200);
  EXPECT_LE(history.after("another", {}, kAll).size(), 6u);
  std::size_t all = 0;
  for (int job = 0; job < 100; ++job) all += history.after(std::to_string(job), {}, kAll).size();
  EXPECT_LE(all, 600u) << "those that were alone once have no more than the others";
}

TEST(StepHistory, FollowersHearOfTheirJobUntilTheyGo) {
  StepHistory history;
  int heard = 0;
  auto follower = history.follow("a", [&] { ++heard; });
  const auto other = history.follow("b", [&] { heard += 100; });
  history.add("a", {.at = {1, 1}});
  history.tell("a");
  EXPECT_EQ(heard, 1);
  follower = nullptr;
  history.tell("a");
  EXPECT_EQ(heard, 1);
}

TEST(StepHistory, ASampleHasTheNumbersOfItsStep) {
  v1alpha1::JobStep step;
  step.set_attempt(2);
  step.set_step(3);
  step.set_loss(1.5);
  step.set_learning_rate(0.25);
  step.add_peak_bytes_per_rank(1024);
  const StepSample sample = sample_of(step, Clock::WallTime(std::chrono::seconds(9)));
  EXPECT_EQ(sample.at, (StepCursor{2, 3}));
  EXPECT_EQ(sample.loss, 1.5f);
  EXPECT_EQ(sample.learning_rate, 0.25f);
  EXPECT_EQ(sample.peak_memory_bytes, 1024);
  EXPECT_TRUE(std::isnan(sample.mfu));
  EXPECT_TRUE(std::isnan(sample.validation_loss));
}

TEST(StepHistory, ASampleHasThePhasesOfItsStepWhereTheyAreKnown) {
  v1alpha1::JobStep step;
  v1alpha1::MetricsSample told;
  write_sample(sample_of(step, {}), told);
  EXPECT_FALSE(told.has_phase_seconds());
  step.mutable_phase_seconds()->set_forward(0.25);
  step.mutable_phase_seconds()->set_idle(0.5);
  write_sample(sample_of(step, {}), told);
  EXPECT_EQ(told.phase_seconds().forward(), 0.25);
  EXPECT_EQ(told.phase_seconds().idle(), 0.5);
  EXPECT_EQ(told.phase_seconds().data(), 0);
}

}  // namespace
}  // namespace caravan::controller
