#include "worker/trainer/cuda/embedding.h"

#include "worker/trainer/cuda/testing/kernel_test.h"

namespace caravan::cuda {
namespace {

using testing::DeviceArray;
using testing::in_every_order;
using testing::Outputs;
using testing::random_values;
using testing::StoredArray;

constexpr std::int64_t kVocabulary = 9;
constexpr std::int64_t kFirst = 20;  // ids 20 ... 28 are this rank's

struct Shape {
  Storage storage;
  std::int64_t tokens, columns;
  int misaligned = 0;

  std::string name() const {
    return testing::name_of(storage) + " " + std::to_string(tokens) + " x " + std::to_string(columns) +
           (misaligned != 0 ? " misaligned" : "");
  }
};

const std::vector<Shape> kShapes = {
    {Storage::BFloat16, 100, 64},   {Storage::BFloat16, 1, 2056}, {Storage::BFloat16, 30, 13},
    {Storage::BFloat16, 30, 64, 3}, {Storage::BFloat16, 0, 64},   {Storage::Float32, 50, 20},
    {Storage::Float32, 3, 1030},
};

// Some of this rank, each several times, and some of the ranks before and after.
std::vector<std::int64_t> token_ids(std::int64_t tokens) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < tokens; ++i) ids.push_back(18 + i * i * 7 % 14);
  return ids;
}

struct Order {
  explicit Order(const std::vector<std::int64_t>& ids) : row(ids.size()), start(row), position(row) {
    start.push_back(0);
    embedding_order(ids.data(), static_cast<std::int64_t>(ids.size()), kFirst, kVocabulary,
                    {.row = row.data(), .start = start.data(), .position = position.data()});
  }

  std::vector<std::int32_t> row, start, position;
};

Outputs run(const Shape& shape, const std::vector<float>& table, const std::vector<float>& gradient) {
  const std::vector<std::int64_t> ids = token_ids(shape.tokens);
  const Order order(ids);
  const DeviceArray<std::int64_t> token(ids);
  const DeviceArray<std::int32_t> row(order.row);
  const DeviceArray<std::int32_t> start(order.start);
  const DeviceArray<std::int32_t> position(order.position);
  const StoredArray rows(shape.storage, table, shape.misaligned);
  const StoredArray output(shape.storage, shape.tokens * shape.columns);
  const StoredArray dy(shape.storage, gradient, shape.misaligned);
  const StoredArray table_gradient(Storage::Float32, table);
  testing::expect_launched(embedding_forward({.storage = shape.storage,
                                              .tokens = shape.tokens,
                                              .columns = shape.columns,
                                              .vocabulary = kVocabulary,
                                              .first_token = kFirst,
                                              .token = token.data(),
                                              .table = rows.data(),
                                              .output = output.data()},
                                             nullptr));
  testing::expect_launched(
      embedding_backward({.storage = shape.storage,
                          .tokens = shape.tokens,
                          .columns = shape.columns,
                          .order = {.row = row.data(), .start = start.data(), .position = position.data()},
                          .gradient = dy.data(),
                          .table_gradient = table_gradient.floats()},
                         nullptr));
  return {output.values(), table_gradient.values()};
}

using EmbeddingKernels = testing::KernelTest;

TEST_F(EmbeddingKernels, LookUpAndAddInTheOrderOfTheTokens) {
  for (const Shape& shape : kShapes) {
    const std::vector<float> table = random_values(shape.storage, kVocabulary * shape.columns, 1);
    const std::vector<float> gradient = random_values(shape.storage, shape.tokens * shape.columns, 2);
    std::vector<float> output;
    std::vector<float> table_gradient = table;
    for (const std::int64_t id : token_ids(shape.tokens)) {
      const std::int64_t row = id - kFirst;
      for (std::int64_t i = 0; i < shape.columns; ++i) {
        const bool here = row >= 0 && row < kVocabulary;
        const auto at = static_cast<std::size_t>(row * shape.columns + i);
        if (here) table_gradient[at] += gradient[output.size()];
        output.push_back(here ? table[at] : 0);
      }
    }
    const Outputs outputs = in_every_order(shape.name(), [&] { return run(shape, table, gradient); });
    EXPECT_TRUE(testing::same_bits(outputs, {output, table_gradient})) << shape.name();
  }
}

TEST(EmbeddingOrder, GroupsThePlacesOfEachTokenOfThisRank) {
  const Order order({25, 3, 21, 25, 40, 25, 21});
  EXPECT_EQ(order.row, (std::vector<std::int32_t>{1, 5, 0, 0, 0, 0, 0}));
  EXPECT_EQ(order.start, (std::vector<std::int32_t>{0, 2, 5, 5, 5, 5, 5, 5}));
  EXPECT_EQ(order.position, (std::vector<std::int32_t>{2, 6, 0, 3, 5, 0, 0}));
}

}  // namespace
}  // namespace caravan::cuda
