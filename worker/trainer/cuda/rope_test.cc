#include "worker/trainer/cuda/rope.h"

#include "worker/trainer/cuda/testing/kernel_test.h"

namespace caravan::cuda {
namespace {

using testing::in_every_order;
using testing::Outputs;
using testing::random_values;
using testing::rounded_once;
using testing::StoredArray;

struct Shape {
  Storage storage;
  std::int64_t rows, heads, head_dim;
  std::int64_t others;  // elements of a row after the heads, which stay
  int misaligned = 0;

  std::int64_t row_size() const { return heads * head_dim + others; }
  std::string name() const {
    return testing::name_of(storage) + " " + std::to_string(rows) + " x " + std::to_string(heads) + " x " +
           std::to_string(head_dim) + " + " + std::to_string(others) + (misaligned != 0 ? " misaligned" : "");
  }
};

constexpr std::int64_t kSequence = 5;

const std::vector<Shape> kShapes = {
    {Storage::BFloat16, 7, 3, 64, 64},   {Storage::BFloat16, 11, 40, 128, 128},
    {Storage::BFloat16, 3, 2, 6, 1},     {Storage::BFloat16, 6, 2, 64, 3},
    {Storage::BFloat16, 6, 2, 64, 0, 1}, {Storage::Float32, 7, 3, 64, 64},
    {Storage::Float32, 2, 1, 128, 0},    {Storage::Float32, 12, 2, 2, 0},
    {Storage::BFloat16, 0, 2, 64, 0},
};

std::vector<float> cosines_and_sines(std::int64_t head_dim) {
  std::vector<float> table;
  for (std::int64_t position = 0; position < kSequence; ++position) {
    for (std::int64_t k = 0; k < head_dim; ++k) {
      const double angle = static_cast<double>(position) / static_cast<double>(1 + k % (head_dim / 2));
      table.push_back(static_cast<float>(k < head_dim / 2 ? std::cos(angle) : std::sin(angle)));
    }
  }
  return table;
}

std::vector<double> reference(const Shape& shape, const std::vector<float>& values,
                              const std::vector<float>& table, double sign) {
  std::vector<double> turned(values.begin(), values.end());
  const std::int64_t half = shape.head_dim / 2;
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      for (std::int64_t k = 0; k < half; ++k) {
        const auto at = static_cast<std::size_t>(row * shape.row_size() + head * shape.head_dim + k);
        const auto cosine = static_cast<std::size_t>(row % kSequence * shape.head_dim + k);
        const double c = table[cosine];
        const double s = sign * table[cosine + static_cast<std::size_t>(half)];
        const double x = values[at];
        const double y = values[at + static_cast<std::size_t>(half)];
        turned[at] = x * c - y * s;
        turned[at + static_cast<std::size_t>(half)] = y * c + x * s;
      }
    }
  }
  return turned;
}

Outputs run(const Shape& shape, const std::vector<float>& values, const std::vector<float>& table,
            Rotation rotation) {
  const StoredArray rows(shape.storage, values, shape.misaligned);
  const StoredArray cosines(Storage::Float32, table);
  testing::expect_launched(rope({.storage = shape.storage,
                                 .rotation = rotation,
                                 .rows = shape.rows,
                                 .row_size = shape.row_size(),
                                 .heads = shape.heads,
                                 .head_dim = shape.head_dim,
                                 .sequence_length = kSequence,
                                 .values = rows.data(),
                                 .table = cosines.floats()},
                                nullptr));
  return {rows.values()};
}

using RopeKernels = testing::KernelTest;

TEST_F(RopeKernels, TurnTheHeadsOfEachRowBothWays) {
  for (const Shape& shape : kShapes) {
    const std::vector<float> values = random_values(shape.storage, shape.rows * shape.row_size(), 1);
    const std::vector<float> table = cosines_and_sines(shape.head_dim);
    const Outputs forward =
        in_every_order(shape.name(), [&] { return run(shape, values, table, Rotation::Forward); });
    testing::expect_near(forward[0], reference(shape, values, table, 1), rounded_once(shape.storage),
                         "forward " + shape.name());
    const Outputs backward =
        in_every_order(shape.name(), [&] { return run(shape, values, table, Rotation::Backward); });
    testing::expect_near(backward[0], reference(shape, values, table, -1), rounded_once(shape.storage),
                         "backward " + shape.name());
  }
}

TEST_F(RopeKernels, RefuseHeadsThatHaveNoPairsOrDoNotFit) {
  Rope arguments{};
  arguments.row_size = 8;
  arguments.heads = 1;
  arguments.head_dim = 3;
  EXPECT_STREQ(rope(arguments, nullptr).error, "heads of an odd size have no pairs to turn");
  arguments.head_dim = 10;
  EXPECT_STREQ(rope(arguments, nullptr).error, "rows are shorter than their heads");
}

}  // namespace
}  // namespace caravan::cuda
