// Kernels with faults, each of which the emulation finds, and the words of CUDA that it has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <future>
#include <limits>
#include <numeric>

#include "worker/trainer/cuda/device.h"
#include "worker/trainer/cuda/testing/arrays.h"

namespace caravan::cuda {
namespace {

using emulation::engine;
using emulation::FaultInKernel;
using testing::DeviceArray;
using ::testing::HasSubstr;

constexpr int kThreads = 64;
constexpr std::uint64_t kSeeds = 20;

__global__ void meet_in_two_places() {
  if (threadIdx.x % 2 == 0) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

__global__ void meet_in_half() {
  if (threadIdx.x < 32) __syncthreads();
}

__global__ void shuffle_with_an_exited_lane(float* out) {
  if (threadIdx.x == 3) return;
  out[threadIdx.x] = __shfl_xor_sync(0xffffffff, 1.0F, 1);
}

__global__ void shuffle_without_itself(float* out) {
  out[threadIdx.x] = __shfl_xor_sync(0x0000ffff, 1.0F, 1);
}

__global__ void shuffle_in_part_of_a_warp(float* out) {
  if (threadIdx.x == 0) out[0] = __shfl_xor_sync(0xffffffff, 1.0F, 1);
}

__global__ void read_what_nobody_wrote(float* out) {
  float* const shared = shared_memory<float>();
  if (threadIdx.x > 0) shared[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = shared[threadIdx.x];
}

__global__ void read_before_it_is_written(float* out) {
  float* const shared = shared_memory<float>();
  shared[threadIdx.x] = static_cast<float>(threadIdx.x);
  out[threadIdx.x] = shared[threadIdx.x ^ 33];
}

// The barrier between the reads of the first round and the writes of the second is missing.
__global__ void write_before_it_is_read(float* out) {
  float* const shared = shared_memory<float>();
  for (int round = 0; round < 2; ++round) {
    shared[threadIdx.x] = static_cast<float>(threadIdx.x) + 100.0F * static_cast<float>(round);
    __syncthreads();
    if (round == 0) out[threadIdx.x] = shared[threadIdx.x ^ 33];
  }
}

__global__ void store_to_the_wrong_memory() {
  __stwb(shared_memory<uint4>(), uint4{});
}

__global__ void count_blocks(float* out) {
  if (threadIdx.x == 0) out[0] += 1;
}

__global__ void copy_from_the_block_before(float* out) {
  if (threadIdx.x == 0) out[blockIdx.x + 1] = out[blockIdx.x] + 1;
}

class Emulation : public ::testing::Test {
 protected:
  void TearDown() override { engine().set_order({}); }

  template <typename... Arguments>
  static void run(void (*kernel)(Arguments...), std::int64_t blocks, Arguments... arguments) {
    const Grid grid{.blocks = blocks, .threads = kThreads, .shared_bytes = kThreads * sizeof(float)};
    ASSERT_TRUE(launch(kernel, grid, nullptr, arguments...).ok());
  }

  template <typename... Arguments>
  static std::string fault_of(void (*kernel)(Arguments...), std::int64_t blocks, Arguments... arguments) {
    try {
      run(kernel, blocks, arguments...);
    } catch (const FaultInKernel& fault) {
      return fault.what();
    }
    return "no fault";
  }

  // In how many orders of threads the kernel makes out[i] = i ^ 33.
  static int right_orders(void (*kernel)(float*)) {
    int right = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      engine().set_order({.seed = seed});
      const DeviceArray<float> out{std::vector<float>(kThreads)};
      run(kernel, 1, out.data());
      const std::vector<float> values = out.values();
      bool same = true;
      for (unsigned i = 0; i < kThreads; ++i) same = same && values[i] == static_cast<float>(i ^ 33);
      right += same ? 1 : 0;
    }
    return right;
  }
};

TEST_F(Emulation, FindsBarriersThatNotAllThreadsReach) {
  EXPECT_THAT(fault_of(meet_in_two_places, 1), HasSubstr("threads meet in different __syncthreads: "));
  EXPECT_THAT(fault_of(meet_in_half, 1),
              HasSubstr("threads wait for ever: 32 of 64 have exited, 32 are in __syncthreads at "));
}

TEST_F(Emulation, TakesLaunchesOfOneThreadAlone) {
  const DeviceArray<float> out{std::vector<float>(1)};
  run(count_blocks, 1, out.data());
  auto elsewhere = std::async(std::launch::async, [&] { return fault_of(count_blocks, 1, out.data()); });
  EXPECT_EQ(elsewhere.get(), "kernels are launched from one thread of a process");
  EXPECT_EQ(out.values()[0], 1);
}

TEST_F(Emulation, FindsShufflesThatNotAllLanesReach) {
  const DeviceArray<float> out{std::vector<float>(kThreads)};
  EXPECT_THAT(fault_of(shuffle_with_an_exited_lane, 1, out.data()),
              HasSubstr("a shuffle reads from a lane that takes no part: "));
  EXPECT_THAT(fault_of(shuffle_without_itself, 1, out.data()),
              HasSubstr("the mask of a shuffle lacks the calling lane: "));
  EXPECT_THAT(fault_of(shuffle_in_part_of_a_warp, 1, out.data()),
              HasSubstr("a shuffle reads from a lane that takes no part: "));
}

TEST_F(Emulation, GoesOnAfterAFault) {
  const DeviceArray<float> out{std::vector<float>(1)};
  EXPECT_NE(fault_of(meet_in_half, 1), "no fault");
  EXPECT_EQ(fault_of(count_blocks, 5, out.data()), "no fault");
  EXPECT_EQ(out.values()[0], 5);
}

TEST_F(Emulation, SharedMemoryIsNotZero) {
  const DeviceArray<float> out{std::vector<float>(kThreads)};
  run(read_what_nobody_wrote, 2, out.data());
  EXPECT_TRUE(std::isnan(out.values()[0]));
  EXPECT_EQ(out.values()[1], 1);
}

TEST_F(Emulation, FindsStoresToTheWrongMemory) {
  EXPECT_THAT(fault_of(store_to_the_wrong_memory, 1),
              HasSubstr("a store to global memory goes to shared memory: "));
}

TEST_F(Emulation, FindsMissingBarriersInSomeOrder) {
  EXPECT_LT(right_orders(read_before_it_is_written), kSeeds / 2);
  EXPECT_LT(right_orders(write_before_it_is_read), kSeeds * 3 / 4);
}

TEST_F(Emulation, FindsBlocksThatMeetInMemory) {
  engine().set_order({.isolate_blocks = true});
  const DeviceArray<float> out{std::vector<float>(kThreads)};
  EXPECT_THAT(fault_of(count_blocks, 8, out.data()), HasSubstr("both write byte"));
  const DeviceArray<float> chain{std::vector<float>(5)};
  EXPECT_EQ(fault_of(copy_from_the_block_before, 4, chain.data()), "no fault");
  EXPECT_EQ(chain.values(), (std::vector<float>{0, 1, 1, 1, 1})) << "no block sees what another has written";
}

TEST_F(Emulation, RefusesGridsThatNoDeviceHas) {
  EXPECT_STREQ(launch(meet_in_half, {.blocks = kMaxBlocks + 1, .threads = 1}, nullptr).error, kTooManyRows);
  EXPECT_STREQ(launch(meet_in_half, {.blocks = 1, .threads = 1, .shared_bytes = 1 << 20}, nullptr).error,
               kTooLongRows);
  EXPECT_THROW((void)launch(meet_in_half, {.blocks = 1, .threads = kMaxThreads + 1}, nullptr), FaultInKernel);
}

__global__ void exchange(double* out) {
  const unsigned lane = threadIdx.x % 32;
  const double mine = threadIdx.x + 0.5;
  out[threadIdx.x] = lane < 16 ? __shfl_xor_sync(0x0000ffff, mine, 5) : __shfl_xor_sync(0xffff0000, mine, 8);
}

TEST_F(Emulation, LanesExchangeValuesWithinTheirMask) {
  const DeviceArray<double> out{std::vector<double>(kThreads)};
  run(exchange, 1, out.data());
  const std::vector<double> values = out.values();
  for (unsigned i = 0; i < kThreads; ++i) EXPECT_EQ(values[i], (i % 32 < 16 ? i ^ 5 : i ^ 8) + 0.5);
}

TEST(EmulatedBfloat16, RoundsAsTheTestsDo) {
  constexpr std::uint64_t kStride = 65'521;  // a prime: all exponents, and all kinds of rests
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += kStride) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const float rounded = __bfloat162float(__float2bfloat16(value));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(rounded));
    } else {
      ASSERT_EQ(rounded, testing::stored(Storage::BFloat16, value)) << value;
    }
  }
}

#ifdef __SANITIZE_ADDRESS__
__global__ void write_past_the_end(float* out) {
  out[threadIdx.x + 1] = 1;
}

__global__ void write_past_shared_memory(float* out) {
  float* const shared = shared_memory<float>();
  shared[threadIdx.x + 1] = 1;
  out[threadIdx.x] = shared[threadIdx.x];
}

struct alignas(16) FourFloats {
  float item[4];
};

__global__ void read_four_from_anywhere(float* out) {
  const auto four = *reinterpret_cast<const FourFloats*>(out + 1);
  out[0] = four.item[0];
}

using EmulationDeathTest = Emulation;

TEST_F(EmulationDeathTest, SanitizersSeeTheMemoryOfADevice) {
  const DeviceArray<float> out{std::vector<float>(kThreads)};
  EXPECT_DEATH(run(write_past_the_end, 1, out.data()), "heap-buffer-overflow");
  EXPECT_DEATH(run(write_past_shared_memory, 1, out.data()), "heap-buffer-overflow");
  EXPECT_DEATH(run(read_four_from_anywhere, 1, out.data()), "misaligned address");
}
#endif

}  // namespace
}  // namespace caravan::cuda
