#include "worker/trainer/cuda/heads.h"

#include "worker/trainer/cuda/testing/kernel_test.h"

namespace caravan::cuda {
namespace {

using testing::in_every_order;
using testing::Outputs;
using testing::random_values;
using testing::StoredArray;

struct Shape {
  std::int64_t sequences, tokens, heads, head_dim, row_size, first_head;
  int misaligned = 0;

  std::int64_t values() const { return sequences * tokens * heads * head_dim; }
  std::string name() const {
    return std::to_string(heads) + " heads of " + std::to_string(head_dim) + " from " +
           std::to_string(first_head) + " in rows of " + std::to_string(row_size) + ", misaligned by " +
           std::to_string(misaligned);
  }
};

const std::vector<Shape> kShapes = {{1, 1, 1, 1, 1, 0},      {2, 3, 4, 16, 128, 2},   {1, 5, 3, 7, 40, 1},
                                    {2, 2, 40, 64, 3072, 8}, {1, 3, 2, 16, 48, 1, 3}, {1, 3, 2, 16, 44, 0}};

enum class Order { TokensFirst, HeadsFirst };  // of what lies furthest apart within a sequence

PlaceHeads strides_of(const Shape& shape, Order order) {
  const bool by_token = order == Order::TokensFirst;
  PlaceHeads place{};
  place.sequence_stride = shape.tokens * shape.heads * shape.head_dim;
  place.token_stride = (by_token ? shape.heads : 1) * shape.head_dim;
  place.head_stride = (by_token ? 1 : shape.tokens) * shape.head_dim;
  return place;
}

std::vector<float> placed(Storage storage, const Shape& shape, Order order, const std::vector<float>& values,
                          const std::vector<float>& rows) {
  const StoredArray from(storage, values, shape.misaligned), to(storage, rows);
  PlaceHeads place = strides_of(shape, order);
  place.storage = storage;
  place.sequences = shape.sequences;
  place.tokens = shape.tokens;
  place.heads = shape.heads;
  place.head_dim = shape.head_dim;
  place.values = from.data();
  place.rows = to.data();
  place.row_size = shape.row_size;
  place.first_head = shape.first_head;
  testing::expect_launched(place_heads(place, nullptr));
  return to.values();
}

std::vector<float> expected_rows(const Shape& shape, Order order, const std::vector<float>& values,
                                 std::vector<float> rows) {
  const PlaceHeads strides = strides_of(shape, order);
  for (std::int64_t i = 0; i < shape.values(); ++i) {
    const std::int64_t k = i % shape.head_dim, head = i / shape.head_dim % shape.heads,
                       row = i / (shape.head_dim * shape.heads);
    const std::int64_t from = row / shape.tokens * strides.sequence_stride +
                              row % shape.tokens * strides.token_stride + head * strides.head_stride + k;
    const std::int64_t to = row * shape.row_size + (shape.first_head + head) * shape.head_dim + k;
    rows[static_cast<std::size_t>(to)] = values[static_cast<std::size_t>(from)];
  }
  return rows;
}

using HeadsKernels = testing::KernelTest;

TEST_F(HeadsKernels, AreCopiedToTheirPlacesAndNothingElse) {
  for (const Storage storage : {Storage::Float32, Storage::BFloat16}) {
    for (const Shape& shape : kShapes) {
      for (const Order order : {Order::TokensFirst, Order::HeadsFirst}) {
        const std::vector<float> values = random_values(storage, shape.values(), 1);
        const std::vector<float> rows =
            random_values(storage, shape.sequences * shape.tokens * shape.row_size, 2);
        const Outputs outputs = in_every_order(
            shape.name(), [&]() -> Outputs { return {placed(storage, shape, order, values, rows)}; });
        EXPECT_TRUE(testing::same_bits(outputs, {expected_rows(shape, order, values, rows)}))
            << testing::name_of(storage) << ", " << shape.name();
      }
    }
  }
}

TEST_F(HeadsKernels, RefuseRowsThatAreTooShort) {
  PlaceHeads place{};
  place.sequences = place.tokens = place.heads = 1;
  place.first_head = 1;
  place.head_dim = 8;
  place.row_size = 15;
  EXPECT_STREQ(place_heads(place, nullptr).error, "rows are shorter than their heads");
}

}  // namespace
}  // namespace caravan::cuda
