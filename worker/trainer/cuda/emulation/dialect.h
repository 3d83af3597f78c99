// The part of CUDA that kernels of this room are written in, for compilers of C++. See engine.h for how it
// runs.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "worker/trainer/cuda/emulation/bfloat16.h"
#include "worker/trainer/cuda/emulation/engine.h"
#include "worker/trainer/cuda/grid.h"
#include "worker/trainer/cuda/launch.h"

// NOLINTBEGIN(bugprone-reserved-identifier): CUDA's names

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)

// Memory is read and written by words whatever it holds. Copies are written out: of trivial ones Clang's
// sanitizer does not look at the addresses.
struct alignas(8) [[gnu::may_alias]] uint2 {
  uint2() = default;
  uint2(unsigned x, unsigned y) : x(x), y(y) {}
  uint2(const uint2& from) : x(from.x), y(from.y) {}
  uint2& operator=(const uint2& from) {
    x = from.x, y = from.y;
    return *this;
  }
  unsigned x = 0, y = 0;
};
struct alignas(16) [[gnu::may_alias]] uint4 {
  uint4() = default;
  uint4(unsigned x, unsigned y, unsigned z, unsigned w) : x(x), y(y), z(z), w(w) {}
  uint4(const uint4& from) : x(from.x), y(from.y), z(from.z), w(from.w) {}
  uint4& operator=(const uint4& from) {
    x = from.x, y = from.y, z = from.z, w = from.w;
    return *this;
  }
  unsigned x = 0, y = 0, z = 0, w = 0;
};

inline const caravan::cuda::emulation::Index& threadIdx = caravan::cuda::emulation::engine().thread_index();
inline const caravan::cuda::emulation::Index& blockIdx = caravan::cuda::emulation::engine().block_index();
inline const caravan::cuda::emulation::Index& blockDim = caravan::cuda::emulation::engine().block_size();
inline const caravan::cuda::emulation::Index& gridDim = caravan::cuda::emulation::engine().grid_size();

inline void __syncthreads(caravan::cuda::emulation::Site site = caravan::cuda::emulation::Site::current()) {
  caravan::cuda::emulation::engine().barrier(site);
}

template <typename Word>
void __stwb(Word* to, Word word,
            caravan::cuda::emulation::Site site = caravan::cuda::emulation::Site::current()) {
  caravan::cuda::emulation::engine().require_global(to, site);
  *to = word;
}

template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lane_bits,
                  caravan::cuda::emulation::Site site = caravan::cuda::emulation::Site::current()) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t) && std::is_trivially_copyable_v<T>);
  caravan::cuda::emulation::Engine& engine = caravan::cuda::emulation::engine();
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  word = engine.exchange(mask, word, engine.lane() ^ static_cast<unsigned>(lane_bits), site);
  std::memcpy(&value, &word, sizeof(T));
  return value;
}

inline std::uint32_t __float_as_uint(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
inline float __uint_as_float(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}
using std::isfinite;
inline float rsqrtf(float value) {
  return 1.0F / std::sqrt(value);
}

// NOLINTEND(bugprone-reserved-identifier)

namespace caravan::cuda {

template <typename T>
T* shared_memory() {
  return static_cast<T*>(emulation::engine().shared_memory());
}

template <typename... Parameters>
LaunchResult launch(void (*kernel)(Parameters...), const Grid& grid, Stream,
                    std::type_identity_t<Parameters>... arguments) {
  if (grid.blocks > kMaxBlocks) return {kTooManyRows};
  if (grid.shared_bytes > emulation::kMaxSharedBytes) return {kTooLongRows};
  emulation::engine().launch(grid, [=] { kernel(arguments...); });
  return {};
}

}  // namespace caravan::cuda
