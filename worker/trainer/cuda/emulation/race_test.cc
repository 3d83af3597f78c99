// Races that the thread sanitizer sees in emulated kernels, in whatever order their threads run, by the
// options that the preset tsan gives it.
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

// The barrier between the reads of the first round and the writes of the second is missing.
__global__ void write_before_it_is_read(float* out) {
  float* const shared = shared_memory<float>();
  for (int round = 0; round < 2; ++round) {
    shared[threadIdx.x] = static_cast<float>(round);
    __syncthreads();
    out[threadIdx.x] = shared[threadIdx.x ^ 33];
  }
}

void run(void (*kernel)(float*)) {
  const DeviceArray<float> out(std::vector<float>(kThreads, 0));
  float* const data = out.data();
  engine().launch({.blocks = 1, .threads = kThreads, .shared_bytes = kThreads * sizeof(float)},
                  [=] { kernel(data); });
}

TEST(Races, OfThreadsBehindABarrierAreNone) {
  run([](float* out) { swap_halves_of_warps(out, true); });
}

TEST(RacesDeathTest, OfThreadsWithoutABarrierAreSeen) {
  EXPECT_DEATH(run([](float* out) { swap_halves_of_warps(out, false); }), "data race");
}

TEST(RacesDeathTest, AreNotEndedByAShuffle) {
  EXPECT_DEATH(run(shuffle_instead_of_waiting), "data race");
}

TEST(RacesDeathTest, BehindABarrierAreSeen) {
  EXPECT_DEATH(run(write_before_it_is_read), "data race");
}

}  // namespace
}  // namespace caravan::cuda
