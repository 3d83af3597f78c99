// How threads read and write arrays: packs of 16 bytes wherever addresses allow, single values elsewhere.
// Values are fp32 in registers, and rounded to the nearest when they are stored. For .cu files.
#pragma once

#include <cstdint>

#include "worker/trainer/cuda/device.h"

namespace caravan::cuda {

inline constexpr int kPackBytes = 16;

template <typename T>
inline constexpr int kPackOf = kPackBytes / static_cast<int>(sizeof(T));

template <int kWidth>
struct Values {
  float item[kWidth];
};

template <typename T, int kWidth>
inline constexpr int kPackAlignment = kWidth* static_cast<int>(sizeof(T)) < kPackBytes
                                          ? kWidth* static_cast<int>(sizeof(T))
                                          : kPackBytes;

template <typename T, int kWidth>
struct alignas(kPackAlignment<T, kWidth>) Pack {
  T item[kWidth];
};

__device__ inline float to_float(float value) {
  return value;
}
__device__ inline float to_float(bf16 value) {
  return __bfloat162float(value);
}

template <typename T>
__device__ T from_float(float value) {
  if constexpr (std::is_same_v<T, bf16>) {
    return __float2bfloat16(value);
  } else {
    return value;
  }
}

// What is left of a value when it is stored and read back.
template <typename T>
__device__ float rounded(float value) {
  return to_float(from_float<T>(value));
}

template <int kWidth, typename T>
__device__ Values<kWidth> load(const T* from) {
  const auto pack = *reinterpret_cast<const Pack<T, kWidth>*>(from);
  Values<kWidth> values;
  for (int k = 0; k < kWidth; ++k) values.item[k] = to_float(pack.item[k]);
  return values;
}

template <int kWidth, typename T>
__device__ void store(T* to, const Values<kWidth>& values) {
  Pack<T, kWidth> pack;
  for (int k = 0; k < kWidth; ++k) pack.item[k] = from_float<T>(values.item[k]);
  *reinterpret_cast<Pack<T, kWidth>*>(to) = pack;
}

// How many of `count` values come before the first that a pack may start at in each of the arrays: `count`,
// so none may, where their addresses never agree. A null pointer is an array that is not there.
template <int kWidth, typename... T>
__host__ __device__ std::int64_t single_values(std::int64_t count, const T*... arrays) {
  for (std::int64_t skipped = 0; skipped < kWidth && skipped < count; ++skipped) {
    const auto aligned = [skipped]<typename U>(const U* array) {
      const auto address =
          reinterpret_cast<std::uintptr_t>(array) + static_cast<std::uintptr_t>(skipped) * sizeof(U);
      return array == nullptr || address % kPackAlignment<U, kWidth> == 0;
    };
    if ((aligned(arrays) && ...)) return skipped;
  }
  return count;
}

// The same for rows that are worked on together, all starting at a pack or none.
template <int kWidth, typename... T>
std::int64_t single_values_of_rows(std::int64_t columns, const T*... arrays) {
  const bool packed = columns % kWidth == 0 && single_values<kWidth>(columns, arrays...) == 0;
  return packed ? 0 : columns;
}

// One of several threads that share out a range.
struct Worker {
  std::int64_t index, count;
};

__device__ inline Worker worker_of_block() {
  return {threadIdx.x, blockDim.x};
}
__device__ inline Worker worker_of_grid() {
  return {std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x, std::int64_t{gridDim.x} * blockDim.x};
}

// Calls body.operator()<width>(i) for this worker's part of the values 0 ... count - 1: i and the width - 1
// after it.
template <int kWidth, typename Body>
__device__ void for_packs(Worker worker, std::int64_t single, std::int64_t count, Body body) {
  const std::int64_t packs = (count - single) / kWidth;
  for (std::int64_t i = worker.index; i < single; i += worker.count) body.template operator()<1>(i);
  for (std::int64_t pack = worker.index; pack < packs; pack += worker.count)
    body.template operator()<kWidth>(single + pack * kWidth);
  for (std::int64_t i = single + packs * kWidth + worker.index; i < count; i += worker.count)
    body.template operator()<1>(i);
}

}  // namespace caravan::cuda
