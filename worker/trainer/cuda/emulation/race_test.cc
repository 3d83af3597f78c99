// Races that the thread sanitizer sees in emulated kernels, in whatever order their threads run.
#include <gtest/gtest.h>

#include "worker/trainer/cuda/device.h"
#include "worker/trainer/cuda/testing/arrays.h"

namespace caravan::cuda {
namespace {

using emulation::engine;
using testing::DeviceArray;

constexpr int kThreads = 64;

__global__ void swap_halves_of_warps(float* out, bool waits) {
  float* const shared = shared_memory<float>();
  shared[threadIdx.x] = out[threadIdx.x];
  if (waits) __syncthreads();
  out[threadIdx.x] = shared[threadIdx.x ^ 1];
}

__global__ void shuffle_instead_of_waiting(float* out) {
  float* const shared = shared_memory<float>();
  shared[threadIdx.x] = __shfl_xor_sync(0xffffffff, 1.0F, 1);
  const float other = __shfl_xor_sync(0xffffffff, 2.0F, 1);
  out[threadIdx.x] = other + shared[threadIdx.x ^ 1];
}

// Each with a thread of its own.
__global__ void write_one_place_in_all_blocks(float* out) {
  if (threadIdx.x == blockIdx.x) out[0] = 1;
}

void run(void (*kernel)(float*), int blocks) {
  const DeviceArray<float> out(std::vector<float>(kThreads, 0));
  float* const data = out.data();
  engine().launch({.blocks = blocks, .threads = kThreads, .shared_bytes = kThreads * sizeof(float)},
                  [=] { kernel(data); });
}

TEST(Races, OfThreadsBehindABarrierAreNone) {
  run([](float* out) { swap_halves_of_warps(out, true); }, 1);
}

TEST(RacesDeathTest, OfThreadsWithoutABarrierAreSeen) {
  EXPECT_DEATH(run([](float* out) { swap_halves_of_warps(out, false); }, 1), "data race");
}

TEST(RacesDeathTest, AreNotEndedByAShuffle) {
  EXPECT_DEATH(run(shuffle_instead_of_waiting, 1), "data race");
}

TEST(RacesDeathTest, OfBlocksAreSeen) {
  EXPECT_DEATH(run(write_one_place_in_all_blocks, 2), "data race");
}

}  // namespace
}  // namespace caravan::cuda
