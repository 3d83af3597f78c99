#include "worker/trainer/kernels/rope.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace caravan::kernels {
namespace {

planner::ModelShape model_with(double theta, int64_t head_dim) {
  planner::ModelShape model;
  model.head_dim = head_dim;
  model.rope_theta = theta;
  return model;
}

// Rotation per position of pair k, read off the table.
double frequency(const at::Tensor& table_SK, int64_t k) {
  return std::asin(table_SK[1][table_SK.size(1) / 2 + k].item<double>());
}

TEST(Rope, BackwardUndoesForwardAndLeavesOtherColumnsAlone) {
  const at::Tensor table_SK = rope_table(model_with(10000, 8), 6, at::kDouble);
  const at::Tensor x_TE = at::randn({12, 5 * 8}, at::kDouble);
  at::Tensor turned_TE = x_TE.clone();
  rope_apply(turned_TE, table_SK, 3, Rotation::Forward);
  EXPECT_FALSE(at::allclose(turned_TE.narrow(1, 0, 24), x_TE.narrow(1, 0, 24)));
  EXPECT_TRUE(at::equal(turned_TE.narrow(1, 24, 16), x_TE.narrow(1, 24, 16)));
  rope_apply(turned_TE, table_SK, 3, Rotation::Backward);
  EXPECT_TRUE(at::allclose(turned_TE, x_TE, 1e-12, 1e-12));
}

TEST(Rope, PairsAreHalfAHeadApartAndEverySequenceStartsAtZero) {
  const at::Tensor table_SK = rope_table(model_with(10000, 4), 3, at::kDouble);
  at::Tensor x_TE = at::zeros({6, 4}, at::kDouble);
  x_TE.select(1, 1).fill_(1);  // second of two pairs, frequency 1/100
  rope_apply(x_TE, table_SK, 1, Rotation::Forward);
  for (int64_t token = 0; token < 6; ++token) {
    const double angle = static_cast<double>(token % 3) / 100;
    EXPECT_NEAR(x_TE[token][1].item<double>(), std::cos(angle), 1e-15);
    EXPECT_NEAR(x_TE[token][3].item<double>(), std::sin(angle), 1e-15);
    EXPECT_EQ(x_TE[token][0].item<double>(), 0);
  }
}

TEST(Rope, ScalingStretchesLongWavelengthsOnly) {
  planner::ModelShape model = model_with(500000, 128);
  const at::Tensor plain = rope_table(model, 2, at::kDouble);
  model.rope_scaling = planner::RopeScaling{};
  const at::Tensor scaled = rope_table(model, 2, at::kDouble);
  EXPECT_EQ(frequency(scaled, 0), frequency(plain, 0));
  EXPECT_NEAR(frequency(scaled, 63), frequency(plain, 63) / 8, 1e-18);
  // Between: wavelength 2π·500000^(30/64) = 2957, of 8192 positions; smooth = (8192/2957 − 1) / 3.
  const double wavelength = 2 * M_PI * std::pow(500000.0, 30.0 / 64);
  const double smooth = (8192 / wavelength - 1) / 3;
  EXPECT_NEAR(frequency(scaled, 30) / frequency(plain, 30), (1 - smooth) / 8 + smooth, 1e-12);
}

}  // namespace
}  // namespace caravan::kernels
