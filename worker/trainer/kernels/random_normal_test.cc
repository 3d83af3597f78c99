#include "worker/trainer/kernels/random_normal.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace caravan::kernels {
namespace {

at::Tensor normal(int64_t count, uint64_t key, int64_t first_index, at::ScalarType type = at::kDouble) {
  at::Tensor values = at::empty({count}, type);
  fill_normal(values, key, first_index, 1);
  return values;
}

// Words of Philox 4x32-10 for key 0 and counter 0, from the known answers of Random123.
TEST(RandomNormal, StartsWithTheKnownAnswerOfPhilox) {
  const double a = 0x6627e8d5;
  const double b = 0xe169c58d;
  const double radius = std::sqrt(-2 * std::log((a + 1) / 4294967296.0));
  const at::Tensor values = normal(2, 0, 0);
  EXPECT_NEAR(values[0].item<double>(), radius * std::cos(2 * M_PI * b / 4294967296.0), 1e-14);
  EXPECT_NEAR(values[1].item<double>(), radius * std::sin(2 * M_PI * b / 4294967296.0), 1e-14);
}

TEST(RandomNormal, AnyPartIsTheSameByItself) {
  const at::Tensor whole = normal(10000, 7, 0);
  for (const int64_t begin : {1, 2, 3, 4, 4999})
    EXPECT_TRUE(at::equal(normal(5000, 7, begin), whole.narrow(0, begin, 5000))) << "from " << begin;
}

TEST(RandomNormal, TypesDifferInRoundingOnly) {
  EXPECT_TRUE(at::equal(normal(100, 3, 0, at::kBFloat16), normal(100, 3, 0, at::kFloat).to(at::kBFloat16)));
}

TEST(RandomNormal, HasTheMomentsOfANormalDistribution) {
  const at::Tensor values = normal(1 << 20, random_key(1, "weight"), 0);
  EXPECT_NEAR(values.mean().item<double>(), 0, 0.005);
  EXPECT_NEAR(values.square().mean().item<double>(), 1, 0.01);
  EXPECT_NEAR(values.pow(4).mean().item<double>(), 3, 0.05);
}

TEST(RandomNormal, NameAndSeedGiveOtherNumbers) {
  const at::Tensor values = normal(100, random_key(1, "a"), 0);
  EXPECT_FALSE(at::equal(normal(100, random_key(1, "b"), 0), values));
  EXPECT_FALSE(at::equal(normal(100, random_key(2, "a"), 0), values));
}

}  // namespace
}  // namespace caravan::kernels
