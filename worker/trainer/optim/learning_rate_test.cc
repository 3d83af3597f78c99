#include "worker/trainer/optim/learning_rate.h"

#include <gtest/gtest.h>

namespace caravan::trainer {
namespace {

constexpr LearningRateSchedule kCosine{
    .peak = 1, .minimum = 0.1, .warmup_steps = 10, .steps = 110, .shape = DecayShape::Cosine};

TEST(LearningRate, WarmsUpInEqualStepsToThePeak) {
  EXPECT_DOUBLE_EQ(learning_rate_at(kCosine, 1), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate_at(kCosine, 5), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate_at(kCosine, 10), 1);
}

TEST(LearningRate, CosineIsHalfWayInTheMiddleAndAtTheMinimumInTheEnd) {
  EXPECT_DOUBLE_EQ(learning_rate_at(kCosine, 60), 0.55);
  EXPECT_DOUBLE_EQ(learning_rate_at(kCosine, 110), 0.1);
}

TEST(LearningRate, LinearFallsEvenly) {
  LearningRateSchedule linear = kCosine;
  linear.shape = DecayShape::Linear;
  EXPECT_DOUBLE_EQ(learning_rate_at(linear, 35), 1 - 0.9 / 4);
  EXPECT_DOUBLE_EQ(learning_rate_at(linear, 110), 0.1);
}

TEST(LearningRate, ConstantStaysAtThePeak) {
  LearningRateSchedule constant = kCosine;
  constant.shape = DecayShape::Constant;
  EXPECT_DOUBLE_EQ(learning_rate_at(constant, 11), 1);
  EXPECT_DOUBLE_EQ(learning_rate_at(constant, 110), 1);
}

TEST(LearningRate, AWarmUpAsLongAsTheRunNeverDecays) {
  LearningRateSchedule all_warm_up = kCosine;
  all_warm_up.warmup_steps = all_warm_up.steps;
  EXPECT_DOUBLE_EQ(learning_rate_at(all_warm_up, 110), 1);
}

TEST(LearningRate, NoWarmUpStartsBelowThePeak) {
  LearningRateSchedule cold = kCosine;
  cold.warmup_steps = 0;
  EXPECT_LT(learning_rate_at(cold, 1), 1);
  EXPECT_GT(learning_rate_at(cold, 1), 0.99);
}

}  // namespace
}  // namespace caravan::trainer
