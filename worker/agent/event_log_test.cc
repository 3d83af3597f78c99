#include "worker/agent/event_log.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "worker/agent/testing/captured_log.h"
#include "worker/agent/testing/scripted_job.h"

namespace caravan::agent {
namespace {

using tensorboard::EventPlace;
using tensorboard::Scalar;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Optional;
using ::testing::Pair;

v1alpha1::JobReport step(int attempt, int number) {
  v1alpha1::JobReport report;
  report.mutable_step()->set_attempt(attempt);
  report.mutable_step()->set_step(number);
  return report;
}

TEST(EventLog, EveryStepIsWrittenBeforeItGoes) {
  const testing::CapturedLog captured;
  std::vector<std::pair<int, int64_t>> written;
  {
    EventLog log([&](int attempt, const auto& step) -> Status {
      written.emplace_back(attempt, step.step);
      return {};
    });
    for (const auto& report : {step(1, 1), step(1, 2), step(2, 2)}) log.tell(report);
    log.tell({});
  }
  EXPECT_THAT(written, ElementsAre(Pair(1, 1), Pair(1, 2), Pair(2, 2)));
  EXPECT_EQ(captured.text(), "");
}

TEST(EventLog, WhatCannotBeWrittenIsSaidOnceAndCounted) {
  const testing::CapturedLog captured;
  {
    EventLog log([&](int, const auto& step) -> Status {
      if (step.step % 2 == 0) return failure(fmt::format("step {}: the disk is full", step.step));
      return {};
    });
    for (int number = 1; number <= 9; ++number) log.tell(step(1, number));
  }
  EXPECT_EQ(captured.text(),
            "warning TensorBoard's curves lack steps, and training goes on: step 2: the disk is full\n"
            "warning TensorBoard's curves lack 4 steps\n");
}

// The thread that writes hangs until the end of the test, as one does whose server is gone.
TEST(EventLog, AVolumeThatHangsHoldsUpNeitherTheJobNorItsEnd) {
  const testing::CapturedLog captured;
  std::promise<void> server_is_back, hangs;
  {
    EventLog log(
        [&hangs, is_back = server_is_back.get_future().share()](int, const auto&) -> Status {
          hangs.set_value();
          is_back.wait();
          return failure("nobody hears this");
        },
        std::chrono::milliseconds(1));
    log.tell(step(1, 1));
    hangs.get_future().wait();
    for (std::size_t number = 2; number <= EventLog::kMaxWaiting + 11; ++number)
      log.tell(step(1, static_cast<int>(number)));
  }
  EXPECT_EQ(captured.text(),
            "warning TensorBoard's curves lack steps, and training goes on: the volume is too slow for them\n"
            "warning TensorBoard's curves lack 4107 steps\n");
  server_is_back.set_value();
}

TEST(StepScalars, AreOfTheFullestRankAndWithoutWhatIsUnknown) {
  v1alpha1::JobStep all;
  all.set_step(7);
  all.set_loss(2.5);
  all.set_gradient_norm(0.5);
  all.set_learning_rate(0.001);
  all.set_tokens_per_second(100);
  all.set_seconds(2);
  EXPECT_THAT(scalars_of(all, 12).scalars,
              ElementsAre(Scalar{"loss/training", 2.5}, Scalar{"optimizer/gradient_norm", 0.5},
                          Scalar{"optimizer/learning_rate", 0.001}, Scalar{"speed/tokens_per_second", 100},
                          Scalar{"speed/step_seconds", 2}));
  all.set_validation_loss(3);
  all.set_mfu(0.25);
  for (const int64_t bytes : {1, 3, 2}) all.add_peak_bytes_per_rank(bytes << 30);
  const tensorboard::StepScalars step = scalars_of(all, 12);
  EXPECT_EQ(step.step, 7);
  EXPECT_EQ(step.wall_seconds, 12);
  EXPECT_THAT(step.scalars,
              ElementsAre(Scalar{"loss/training", 2.5}, Scalar{"loss/validation", 3},
                          Scalar{"optimizer/gradient_norm", 0.5}, Scalar{"optimizer/learning_rate", 0.001},
                          Scalar{"speed/tokens_per_second", 100}, Scalar{"speed/mfu", 0.25},
                          Scalar{"speed/step_seconds", 2}, Scalar{"memory/peak_gibibytes", 3}));
}

TEST(EventPlace, IsWhereTheUserSaysOrInAPodBesideTheCheckpoints) {
  v1alpha1::JobPlan job = testing::scripted_job(1, 1, 5);
  AgentOptions options;
  EXPECT_EQ(event_place(job, options), std::nullopt);
  options.in_pod = true;
  EXPECT_EQ(event_place(job, options), std::nullopt) << "there is no volume";
  job.mutable_spec()->mutable_checkpoint()->set_path("/checkpoints/mine");
  EXPECT_THAT(event_place(job, options), Optional(Eq(EventPlace{"/checkpoints/mine", "tensorboard"})));
  options.in_pod = false;
  EXPECT_EQ(event_place(job, options), std::nullopt) << "nobody asked for it";
  options.tensorboard = "/tmp/runs";
  EXPECT_THAT(event_place(job, options), Optional(Eq(EventPlace{"/tmp/runs", ""})));
}

}  // namespace
}  // namespace caravan::agent
