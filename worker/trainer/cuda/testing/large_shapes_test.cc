// Arrays of more than 2^32 values: of each kernel the last block runs, on memory of which next to nothing is
// touched.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>

#include "worker/trainer/cuda/adamw.h"
#include "worker/trainer/cuda/cross_entropy.h"
#include "worker/trainer/cuda/embedding.h"
#include "worker/trainer/cuda/emulation/engine.h"
#include "worker/trainer/cuda/rms_norm.h"
#include "worker/trainer/cuda/rope.h"
#include "worker/trainer/cuda/swiglu.h"

namespace caravan::cuda {
namespace {

using emulation::engine;

constexpr std::int64_t kRows = 1 << 20;
constexpr std::int64_t kColumns = 4104;
constexpr std::int64_t kLast = (kRows - 1) * kColumns;  // the first value of the last row
constexpr std::int64_t kLastRow = kRows - 1;
static_assert(kLast > std::int64_t{1} << 32);

// Zeros that take memory where they are touched only.
class SparseArray {
 public:
  explicit SparseArray(std::int64_t values)
      : bytes_(static_cast<std::size_t>(values) * sizeof(float)),
        data_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                   0)) {
    if (data_ == MAP_FAILED) throw std::runtime_error("no address space for a large array");
  }
  SparseArray(const SparseArray&) = delete;
  SparseArray& operator=(const SparseArray&) = delete;
  ~SparseArray() { munmap(data_, bytes_); }

  float* data() const { return static_cast<float*>(data_); }
  float& operator[](std::int64_t i) const { return data()[i]; }

 private:
  const std::size_t bytes_;
  void* const data_;
};

class LargeShapes : public ::testing::Test {
 protected:
  void SetUp() override { engine().set_order({.only_block = kRows - 1}); }
  void TearDown() override { engine().set_order({}); }
};

TEST_F(LargeShapes, RmsNormFindsItsLastRow) {
  const SparseArray x(kRows * kColumns), output(kRows * kColumns), weight(kColumns), scale(kRows);
  x[kLast + 7] = 3;
  weight[7] = 2;
  ASSERT_TRUE(add_rms_norm({.storage = Storage::Float32,
                            .rows = kRows,
                            .columns = kColumns,
                            .epsilon = 0,
                            .residual = x.data(),
                            .x = nullptr,
                            .weight = weight.data(),
                            .output = output.data(),
                            .scale = scale.data()},
                           nullptr)
                  .ok());
  EXPECT_NEAR(output[kLast + 7], 2 * std::sqrt(kColumns), 1e-3);
}

TEST_F(LargeShapes, SwigluFindsItsLastRow) {
  const SparseArray gate_up(kRows * kColumns * 2), output(kRows * kColumns);
  gate_up[2 * kLast + 7] = 100;
  gate_up[2 * kLast + kColumns + 7] = 3;
  ASSERT_TRUE(swiglu_forward({.storage = Storage::Float32,
                              .rows = kRows,
                              .columns = kColumns,
                              .gate_up = gate_up.data(),
                              .output = output.data()},
                             nullptr)
                  .ok());
  EXPECT_EQ(output[kLast + 7], 300);

  output[kLast + 7] = 2;  // the gradient
  ASSERT_TRUE(swiglu_backward({.storage = Storage::Float32,
                               .rows = kRows,
                               .columns = kColumns,
                               .gate_up = gate_up.data(),
                               .gradient = output.data()},
                              nullptr)
                  .ok());
  EXPECT_EQ(output[kLast + 7], 300);
  EXPECT_EQ(gate_up[2 * kLast + kColumns + 7], 200);
}

TEST_F(LargeShapes, RopeFindsItsLastRow) {
  const SparseArray rows(kRows * kColumns), table(kRows * 8);
  rows[kLast + 2] = 5;
  table[kLastRow * 8 + 4 + 2] = 1;  // the sine
  ASSERT_TRUE(rope({.storage = Storage::Float32,
                    .rotation = Rotation::Forward,
                    .rows = kRows,
                    .row_size = kColumns,
                    .heads = 2,
                    .head_dim = 8,
                    .sequence_length = kRows,
                    .values = rows.data(),
                    .table = table.data()},
                   nullptr)
                  .ok());
  EXPECT_EQ(rows[kLast + 2], 0);
  EXPECT_EQ(rows[kLast + 4 + 2], 5);
}

TEST_F(LargeShapes, CrossEntropyFindsItsLastRow) {
  const SparseArray logits(kRows * kColumns), statistics(3 * kRows);
  const SparseArray targets(kRows * 2);  // zeros, also as ids
  logits[kLast + 7] = 30;
  const CrossEntropyChunk chunk{.storage = Storage::Float32,
                                .tokens = kRows,
                                .vocabulary = kColumns,
                                .first_token = 0,
                                .logits = logits.data(),
                                .targets = reinterpret_cast<const std::int64_t*>(targets.data()),
                                .statistics = statistics.data()};
  ASSERT_TRUE(cross_entropy_maxima(chunk, nullptr).ok());
  EXPECT_EQ(statistics[kLastRow], 30);
  ASSERT_TRUE(cross_entropy_gradient(chunk, 1, nullptr).ok());
  EXPECT_NEAR(logits[kLast + 7], 1, 1e-6);
  EXPECT_NEAR(logits[kLast], -1, 1e-6) << "the target";
}

TEST_F(LargeShapes, EmbeddingFindsItsLastRow) {
  const SparseArray token(kRows * 2), table(kRows * kColumns), output(kRows * kColumns);
  reinterpret_cast<std::int64_t*>(token.data())[kLastRow] = kLastRow;
  table[kLast + 7] = 5;
  ASSERT_TRUE(embedding_forward({.storage = Storage::Float32,
                                 .tokens = kRows,
                                 .columns = kColumns,
                                 .vocabulary = kRows,
                                 .first_token = 0,
                                 .token = reinterpret_cast<const std::int64_t*>(token.data()),
                                 .table = table.data(),
                                 .output = output.data()},
                                nullptr)
                  .ok());
  EXPECT_EQ(output[kLast + 7], 5);
}

TEST_F(LargeShapes, AdamWReachesTheLastValue) {
  constexpr std::int64_t kElements = (std::int64_t{1} << 32) + 3;
  constexpr unsigned kFirstBlock = 0;  // has the values that make no pack
  engine().set_order({.only_block = kFirstBlock});
  const SparseArray weights(kElements), gradients(kElements), first(kElements), second(kElements);
  gradients[kElements - 1] = 5;
  AdamW update{};
  update.elements = kElements;
  update.weights = weights.data();
  update.gradients = gradients.data();
  update.first_moment = first.data();
  update.second_moment = second.data();
  update.gradient_scale = 1;
  update.learning_rate = 1;
  update.epsilon = 1e-8;
  update.step = 1;
  ASSERT_TRUE(adamw(update, nullptr).ok());
  EXPECT_EQ(first[kElements - 1], 5);
  EXPECT_EQ(gradients[kElements - 1], 0);
  EXPECT_EQ(weights[kElements - 1], -1);
}

}  // namespace
}  // namespace caravan::cuda
