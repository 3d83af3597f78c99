#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "worker/trainer/comm/direct_exchange.h"
#include "worker/trainer/comm/testing/silent_group.h"
#include "worker/trainer/memory/counting_allocator.h"

namespace caravan::trainer {
namespace {

int64_t all_reduce_workspace(int64_t elements, at::ScalarType type) {
  MemoryCounter counter;
  const CountingAllocator allocator(counter);
  at::Tensor tensor = at::zeros({elements}, type);
  const int64_t before = counter.live_bytes();
  SilentGroup group;
  exchange_all_reduce(group, tensor);
  return counter.peak_bytes() - before;
}

TEST(ExchangeMemory, AnAllReduceAllocatesWhatTheContractSays) {
  EXPECT_EQ(all_reduce_workspace(1000, at::kFloat), 4 * 500);
  EXPECT_EQ(all_reduce_workspace(1000, at::kBFloat16), 10 * 500);
  EXPECT_EQ(all_reduce_workspace(1 << 20, at::kFloat), 4 * 65536);
  EXPECT_EQ(all_reduce_workspace(1 << 20, at::kBFloat16), 10 * 65536);
}

TEST(ExchangeMemory, AGatherAllocatesNothing) {
  MemoryCounter counter;
  const CountingAllocator allocator(counter);
  at::Tensor output = at::zeros({64}, at::kFloat);
  const at::Tensor input = at::zeros({32}, at::kFloat);
  const int64_t before = counter.live_bytes();
  SilentGroup group;
  exchange_all_gather(group, output, input);
  EXPECT_EQ(counter.peak_bytes(), before);
}

}  // namespace
}  // namespace caravan::trainer
