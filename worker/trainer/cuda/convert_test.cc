#include "worker/trainer/cuda/convert.h"

#include <limits>

#include "worker/trainer/cuda/testing/kernel_test.h"

namespace caravan::cuda {
namespace {

using testing::in_every_order;
using testing::Outputs;
using testing::random_values;
using testing::stored;
using testing::StoredArray;

struct Shape {
  std::int64_t elements;
  int from_misaligned, to_misaligned;

  std::string name() const {
    return std::to_string(elements) + " misaligned by " + std::to_string(from_misaligned) + " and " +
           std::to_string(to_misaligned);
  }
};

// Both at packs, both off by the same, and never at the same place.
const std::vector<Shape> kShapes = {{0, 0, 0},  {1, 0, 0},    {8, 0, 0},  {1003, 0, 0},
                                    {29, 4, 4}, {1003, 5, 5}, {64, 1, 0}, {64, 0, 3}};

std::vector<float> converted(Storage from, Storage to, const std::vector<float>& values, const Shape& shape) {
  const StoredArray source(from, values, shape.from_misaligned);
  const StoredArray target(to, shape.elements, shape.to_misaligned);
  testing::expect_launched(convert({.elements = shape.elements,
                                    .from_storage = from,
                                    .from = source.data(),
                                    .to_storage = to,
                                    .to = target.data()},
                                   nullptr));
  return target.values();
}

std::vector<float> accumulated(Storage storage, const std::vector<float>& terms,
                               const std::vector<float>& sums, const Shape& shape) {
  const StoredArray term(storage, terms, shape.from_misaligned);
  const StoredArray sum(Storage::Float32, sums, shape.to_misaligned);
  testing::expect_launched(accumulate(
      {.elements = shape.elements, .storage = storage, .term = term.data(), .sum = sum.floats()}, nullptr));
  return sum.values();
}

using ConvertKernels = testing::KernelTest;

TEST_F(ConvertKernels, RoundToTheNearest) {
  for (const Shape& shape : kShapes) {
    const std::vector<float> values = random_values(Storage::Float32, shape.elements, 1);
    for (const Storage from : {Storage::Float32, Storage::BFloat16}) {
      for (const Storage to : {Storage::Float32, Storage::BFloat16}) {
        std::vector<float> expected;
        for (const float value : values) expected.push_back(stored(to, stored(from, value)));
        const Outputs outputs =
            in_every_order(shape.name(), [&]() -> Outputs { return {converted(from, to, values, shape)}; });
        EXPECT_TRUE(testing::same_bits(outputs, {expected}))
            << testing::name_of(from) << " to " << testing::name_of(to) << ", " << shape.name();
      }
    }
  }
}

TEST_F(ConvertKernels, KeepInfinitiesAndTies) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {kInfinity, -kInfinity, 1.00390625F, 1.01171875F,
                                     3.4e38F,   1e-45F,     -0.0F,       0};
  const std::vector<float> expected = {kInfinity, -kInfinity, 1, 1.015625F, kInfinity, 0, -0.0F, 0};
  EXPECT_TRUE(
      testing::same_bits({converted(Storage::Float32, Storage::BFloat16, values, {8, 0, 0})}, {expected}));
}

TEST_F(ConvertKernels, AccumulateInFp32) {
  for (const Shape& shape : kShapes) {
    const std::vector<float> sums = random_values(Storage::Float32, shape.elements, 2);
    for (const Storage storage : {Storage::Float32, Storage::BFloat16}) {
      const std::vector<float> terms = random_values(storage, shape.elements, 1);
      std::vector<float> expected;
      for (std::size_t i = 0; i < sums.size(); ++i) expected.push_back(sums[i] + terms[i]);
      const Outputs outputs = in_every_order(
          shape.name(), [&]() -> Outputs { return {accumulated(storage, terms, sums, shape)}; });
      EXPECT_TRUE(testing::same_bits(outputs, {expected}))
          << testing::name_of(storage) << ", " << shape.name();
    }
  }
}

}  // namespace
}  // namespace caravan::cuda
