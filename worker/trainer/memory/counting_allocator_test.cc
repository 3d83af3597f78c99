#include "worker/trainer/memory/counting_allocator.h"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <thread>

namespace caravan::trainer {
namespace {

TEST(CountingAllocator, CountsTheBytesOfLiveTensors) {
  MemoryCounter counter;
  const CountingAllocator allocator(counter);
  at::Tensor a = at::empty({3, 5}, at::kFloat);
  EXPECT_EQ(counter.live_bytes(), 60);
  const at::Tensor b = at::empty({7}, at::kBFloat16);
  EXPECT_EQ(counter.live_bytes(), 74);
  a.reset();
  EXPECT_EQ(counter.live_bytes(), 14);
  EXPECT_EQ(counter.peak_bytes(), 74);
}

TEST(CountingAllocator, ThePeakHoldsWhatWasRefused) {
  MemoryCounter counter;
  const CountingAllocator allocator(counter);
  const at::Tensor a = at::empty({10}, at::kFloat);
  constexpr int64_t kMoreThanAnybodyHas = int64_t{1} << 60;
  EXPECT_ANY_THROW(at::empty({kMoreThanAnybodyHas}, at::kByte));
  EXPECT_EQ(counter.live_bytes(), 40);
  EXPECT_EQ(counter.peak_bytes(), kMoreThanAnybodyHas + 40);
}

TEST(CountingAllocator, AScopeChargesItsOwnThreadOnly) {
  MemoryCounter all;
  MemoryCounter mine;
  const CountingAllocator allocator(all);
  at::Tensor inside;
  {
    const CountTo scope(mine);
    inside = at::empty({4}, at::kDouble);
    std::thread([] { at::empty({100}, at::kFloat); }).join();
  }
  const at::Tensor outside = at::empty({2}, at::kDouble);
  EXPECT_EQ(mine.live_bytes(), 32);
  EXPECT_EQ(all.live_bytes(), 16);
  EXPECT_EQ(all.peak_bytes(), 400);
  inside.reset();  // goes back to the counter it was charged to
  EXPECT_EQ(mine.live_bytes(), 0);
  EXPECT_EQ(all.live_bytes(), 16);
}

TEST(CountingAllocator, ScratchOfALibraryDoesNotCount) {
  MemoryCounter counter;
  const CountingAllocator allocator(counter);
  at::Tensor result;
  {
    const LibraryScratch scratch;
    result = at::empty({1000}, at::kFloat);
  }
  const at::Tensor after = at::empty({2}, at::kFloat);
  EXPECT_EQ(counter.live_bytes(), 8);
  EXPECT_EQ(counter.peak_bytes(), 8);
  result.reset();
  EXPECT_EQ(counter.live_bytes(), 8);
}

TEST(CountingAllocator, WhatThreadsMakeInALoopOfTheLibraryDoesNotCount) {
  MemoryCounter counter;
  const CountingAllocator allocator(counter);
  at::set_num_threads(2);
  at::parallel_for(0, 2, 1, [](int64_t, int64_t) { at::empty({1000}, at::kFloat); });
  EXPECT_EQ(counter.peak_bytes(), 0);
}

TEST(CountingAllocator, MemoryMayOutliveTheAllocator) {
  MemoryCounter counter;
  at::Tensor survivor;
  {
    const CountingAllocator allocator(counter);
    survivor = at::empty({8}, at::kFloat);
  }
  at::empty({1000}, at::kFloat);
  EXPECT_EQ(counter.peak_bytes(), 32);
  survivor.reset();
  EXPECT_EQ(counter.live_bytes(), 0);
}

TEST(CountingMetaAllocator, CountsWhatTensorsWithoutDataWouldTake) {
  constexpr int64_t kElements = int64_t{1} << 40;  // more than any machine has
  MemoryCounter counter;
  MemoryCounter other;
  const CountingMetaAllocator allocator(other);
  {
    const CountTo scope(counter);
    const at::Tensor claimed = at::zeros({kElements}, at::device(at::kMeta).dtype(at::kBFloat16));
    const at::Tensor view = claimed.narrow(0, 5, 7);
    EXPECT_EQ(counter.live_bytes(), 2 * kElements);
  }
  EXPECT_EQ(counter.live_bytes(), 0);
  EXPECT_EQ(counter.peak_bytes(), 2 * kElements);
  EXPECT_EQ(other.peak_bytes(), 0);
}

}  // namespace
}  // namespace caravan::trainer
