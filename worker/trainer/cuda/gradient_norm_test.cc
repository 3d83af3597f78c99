#include "worker/trainer/cuda/gradient_norm.h"

#include <limits>

#include "common/testing/turn.h"
#include "worker/trainer/cuda/testing/kernel_test.h"

namespace caravan::cuda {
namespace {

using testing::DeviceArray;
using testing::in_every_order;
using testing::Outputs;
using testing::random_values;
using testing::StoredArray;

constexpr double kBefore = 3;

double sum_of_squares(const std::vector<float>& values, int misaligned) {
  const StoredArray array(Storage::Float32, values, misaligned);
  const DeviceArray<double> partial(
      std::vector<double>(kSquaredNormParts, std::numeric_limits<double>::quiet_NaN()));
  const DeviceArray<double> sum(std::vector<double>{kBefore});
  testing::expect_launched(squared_norm({.elements = static_cast<std::int64_t>(values.size()),
                                         .values = array.floats(),
                                         .partial = partial.data(),
                                         .sum = sum.data()},
                                        nullptr));
  return sum.values()[0];
}

using GradientNormKernels = testing::KernelTest;

TEST_F(GradientNormKernels, AddSquaresInFp64) {
  struct Shape {
    std::int64_t elements;
    int misaligned;
  };
  for (const Shape& shape : {Shape{0, 0}, {1, 0}, {5, 3}, {1023, 0}, {40'001, 1}}) {
    const std::string what =
        std::to_string(shape.elements) + " misaligned by " + std::to_string(shape.misaligned);
    const std::vector<float> values = random_values(Storage::Float32, shape.elements, 1, 1e-3F);
    double expected = kBefore;
    for (const float value : values) expected += double{value} * value;
    double sum = 0;
    in_every_order(what, [&]() -> Outputs {
      sum = sum_of_squares(values, shape.misaligned);
      const auto high = static_cast<float>(sum);
      return {{high, static_cast<float>(sum - high)}};
    });
    EXPECT_NEAR(sum, expected, 1e-12 * expected) << what;
  }
}

TEST_F(GradientNormKernels, TakeMoreValuesThanThreadsTakeInOneGo) {
  CARAVAN_BY_TURNS();
  constexpr std::size_t kElements = kSquaredNormParts * 256 * 4 + 4001;
  EXPECT_EQ(sum_of_squares(std::vector<float>(kElements, 0.5F), 0), kBefore + kElements * 0.25);
}

TEST_F(GradientNormKernels, SquaresThatNoFp32HoldsAreNumbers) {
  EXPECT_NEAR(sum_of_squares({3e30F, 4e30F}, 0), 25e60, 1e54);
  EXPECT_FALSE(std::isfinite(sum_of_squares({1, std::numeric_limits<float>::infinity()}, 0)));
}

}  // namespace
}  // namespace caravan::cuda
