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

// Values that one instruction moves.
template <typename T, int kWidth>
inline constexpr int kMoved = kWidth < kPackOf<T> ? kWidth : kPackOf<T>;

template <typename T, int kWidth>
inline constexpr int kMovedBytes = kMoved<T, kWidth>* static_cast<int>(sizeof(T));

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

// Words of 32 bits and the values in them, one fp32 or two bf16.
__device__ inline unsigned word_of(const float* values) {
  return __float_as_uint(*values);
}
__device__ inline unsigned word_of(const bf16* values) {
  return __bfloat16_as_ushort(values[0]) | static_cast<unsigned>(__bfloat16_as_ushort(values[1])) << 16;
}
template <typename T>
__device__ void unpack(unsigned word, float* values) {
  if constexpr (std::is_same_v<T, bf16>) {
    values[0] = __uint_as_float(word << 16);
    values[1] = __uint_as_float(word & 0xffff0000U);
  } else {
    values[0] = __uint_as_float(word);
  }
}

// Global memory is written by CUDA's store functions: assignments of packs to rows that begin anywhere nvcc
// takes apart, for compute capabilities 8 and 9, into a store for each word.
struct GlobalMemory {
  template <typename Word>
  __device__ static void write(Word* to, const Word& word) {
    __stwb(to, word);
  }
};
struct SharedMemory {
  template <typename Word>
  __device__ static void write(Word* to, const Word& word) {
    *to = word;
  }
};

// kWidth values, as they are stored.
template <int kWidth, typename Memory = GlobalMemory, typename T>
__device__ void store_exact(T* to, const T* values) {
  constexpr int kPerWord = 4 / static_cast<int>(sizeof(T));
  if constexpr (kWidth == 1) {
    *to = *values;
  } else if constexpr (kMovedBytes<T, kWidth> == 8) {
    Memory::write(reinterpret_cast<uint2*>(to), uint2{word_of(values), word_of(values + kPerWord)});
  } else {
    for (int i = 0; i < kWidth; i += kPackOf<T>)
      Memory::write(reinterpret_cast<uint4*>(to + i),
                    uint4{word_of(values + i), word_of(values + i + kPerWord),
                          word_of(values + i + 2 * kPerWord), word_of(values + i + 3 * kPerWord)});
  }
}

template <int kWidth, typename Memory = GlobalMemory, typename T>
__device__ void store(T* to, const Values<kWidth>& values) {
  T exact[kWidth];
  for (int k = 0; k < kWidth; ++k) exact[k] = from_float<T>(values.item[k]);
  store_exact<kWidth, Memory>(to, exact);
}

// A pack as it is stored, which takes half the registers of its values where these are bf16.
template <typename T>
__device__ uint4 load_words(const T* from) {
  return *reinterpret_cast<const uint4*>(from);
}

template <typename T>
__device__ Values<kPackOf<T>> values_of(const uint4& words) {
  constexpr int kPerWord = 4 / static_cast<int>(sizeof(T));
  Values<kPackOf<T>> values;
  unpack<T>(words.x, values.item);
  unpack<T>(words.y, values.item + kPerWord);
  unpack<T>(words.z, values.item + 2 * kPerWord);
  unpack<T>(words.w, values.item + 3 * kPerWord);
  return values;
}

template <int kWidth, typename T>
__device__ Values<kWidth> load(const T* from) {
  constexpr int kPerWord = 4 / static_cast<int>(sizeof(T));
  Values<kWidth> values;
  if constexpr (kWidth == 1) {
    values.item[0] = to_float(*from);
  } else if constexpr (kMovedBytes<T, kWidth> == 8) {
    const uint2 words = *reinterpret_cast<const uint2*>(from);
    unpack<T>(words.x, values.item);
    unpack<T>(words.y, values.item + kPerWord);
  } else {
    for (int i = 0; i < kWidth; i += kPackOf<T>) {
      const Values<kPackOf<T>> pack = values_of<T>(load_words(from + i));
      for (int k = 0; k < kPackOf<T>; ++k) values.item[i + k] = pack.item[k];
    }
  }
  return values;
}

// How many of `count` values come before the first that a pack may start at in each of the arrays: `count`,
// so none may, where their addresses never agree. A null pointer is an array that is not there.
template <int kWidth, typename... T>
__host__ __device__ std::int64_t single_values(std::int64_t count, const T*... arrays) {
  for (std::int64_t skipped = 0; skipped < kWidth && skipped < count; ++skipped) {
    const auto aligned = [skipped]<typename U>(const U* array) {
      const auto address =
          reinterpret_cast<std::uintptr_t>(array) + static_cast<std::uintptr_t>(skipped) * sizeof(U);
      return array == nullptr || address % kMovedBytes<U, kWidth> == 0;
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
