#include <cmath>

#include "worker/trainer/cuda/adamw.h"
#include "worker/trainer/cuda/packs.h"
#include "worker/trainer/kernels/philox.h"

namespace caravan::cuda {
namespace {

constexpr int kPack = 4;  // 16 bytes of fp32, and as many elements as share a block of random numbers

// What is the same for all elements, made on the host in fp64.
struct Factors {
  float beta1, beta2, rest1, rest2;  // rest = 1 − beta
  float decay;                       // of the weights
  float step_size;
  float root_correction;  // 1 / sqrt(1 − beta2^step)
  float epsilon;
};

// std::pow would ask for a newer C library than LibTorch does.
double power(double base, std::int64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent /= 2, base *= base)
    if (exponent % 2 != 0) result *= base;
  return result;
}

Factors factors_of(const AdamW& a) {
  return {.beta1 = static_cast<float>(a.beta1),
          .beta2 = static_cast<float>(a.beta2),
          .rest1 = static_cast<float>(1 - a.beta1),
          .rest2 = static_cast<float>(1 - a.beta2),
          .decay = static_cast<float>(1 - a.learning_rate * a.weight_decay),
          .step_size = static_cast<float>(a.learning_rate / (1 - power(a.beta1, a.step))),
          .root_correction = static_cast<float>(1 / std::sqrt(1 - power(a.beta2, a.step))),
          .epsilon = static_cast<float>(a.epsilon)};
}

// The random numbers of one element after the other: a word for each, half of it for each moment.
class Noise {
 public:
  __device__ Noise(std::uint64_t key, std::int64_t step)
      : key_(key), step_(static_cast<std::uint64_t>(step)) {}

  __device__ std::uint32_t operator()(std::int64_t element) {
    const std::int64_t block = element / kPack;
    if (block != block_) words_ = kernels::philox(key_, static_cast<std::uint64_t>(block), step_);
    block_ = block;
    const std::int64_t word = element % kPack;  // no index, for which the words would leave the registers
    const std::uint32_t even = word == 0 ? words_.word[0] : words_.word[2];
    const std::uint32_t odd = word == 1 ? words_.word[1] : words_.word[3];
    return word % 2 == 0 ? even : odd;
  }

 private:
  const std::uint64_t key_, step_;
  std::int64_t block_ = -1;
  kernels::RandomBlock words_{};
};

// Up or down to a bf16, up as often as the value is near it: 16 random bits are added to those that are cut
// off.
__device__ bf16 rounded_at_random(float value, std::uint32_t noise) {
  if (!isfinite(value)) return __float2bfloat16(value);
  return __ushort_as_bfloat16(static_cast<std::uint16_t>((__float_as_uint(value) + (noise & 0xffff)) >> 16));
}

template <int kWidth>
__device__ void store_moment(float* to, const Values<kWidth>& values, const std::uint32_t*) {
  store<kWidth>(to, values);
}

template <int kWidth>
__device__ void store_moment(bf16* to, const Values<kWidth>& values, const std::uint32_t* noise) {
  bf16 rounded[kWidth];
  for (int k = 0; k < kWidth; ++k) rounded[k] = rounded_at_random(values.item[k], noise[k]);
  store_exact<kWidth>(to, rounded);
}

__device__ void update(float& weight, float& first, float& second, float gradient, const Factors& factors) {
  first = factors.beta1 * first + factors.rest1 * gradient;
  second = factors.beta2 * second + factors.rest2 * gradient * gradient;
  const float root = sqrtf(second) * factors.root_correction + factors.epsilon;
  weight = weight * factors.decay - factors.step_size * first / root;
}

// bench/gpu/kernel_summary.py knows the end of a step by this name.
template <typename T>
__global__ void __launch_bounds__(kFlatThreads) adamw_kernel(AdamW a, Factors factors, std::int64_t single) {
  const float scale = a.gradient_scale;
  T* const firsts = static_cast<T*>(a.first_moment);
  T* const seconds = static_cast<T*>(a.second_moment);
  for_packs<kPack>(worker_of_grid(), single, a.elements, [&]<int kWidth>(std::int64_t i) {
    if (!isfinite(scale)) return store<kWidth>(a.gradients + i, Values<kWidth>{});
    const Values<kWidth> gradient = load<kWidth>(a.gradients + i);
    Values<kWidth> weight = load<kWidth>(a.weights + i);
    Values<kWidth> first = load<kWidth>(firsts + i);
    Values<kWidth> second = load<kWidth>(seconds + i);
    std::uint32_t first_noise[kWidth];
    std::uint32_t second_noise[kWidth];
    Noise noise(a.rounding_key, a.step);
    kernels::NumberWalk numbers(a.numbers, i);
    for (int k = 0; k < kWidth; ++k) {
      update(weight.item[k], first.item[k], second.item[k], gradient.item[k] * scale, factors);
      first_noise[k] = std::is_same_v<T, bf16> ? noise(numbers.next()) : 0;
      second_noise[k] = first_noise[k] >> 16;
    }
    store<kWidth>(a.gradients + i, Values<kWidth>{});
    store<kWidth>(a.weights + i, weight);
    store_moment<kWidth>(firsts + i, first, first_noise);
    store_moment<kWidth>(seconds + i, second, second_noise);
    if (a.bf16_weights != nullptr) store<kWidth>(static_cast<bf16*>(a.bf16_weights) + i, weight);
  });
}

template <typename T, typename V>
__global__ void __launch_bounds__(kFlatThreads)
    adamw_values_kernel(AdamW a, V* values, Factors factors, std::int64_t single) {
  const float scale = a.gradient_scale;
  const T* const firsts = static_cast<const T*>(a.first_moment);
  const T* const seconds = static_cast<const T*>(a.second_moment);
  for_packs<kPack>(worker_of_grid(), single, a.elements, [&]<int kWidth>(std::int64_t i) {
    const Values<kWidth> gradient = load<kWidth>(a.gradients + i);
    Values<kWidth> weight = load<kWidth>(a.weights + i);
    if (isfinite(scale)) {
      Values<kWidth> first = load<kWidth>(firsts + i);
      Values<kWidth> second = load<kWidth>(seconds + i);
      for (int k = 0; k < kWidth; ++k)
        update(weight.item[k], first.item[k], second.item[k], gradient.item[k] * scale, factors);
    }
    store<kWidth>(values + i, weight);
  });
}

constexpr LaunchResult kNoStep{"the first step of an optimizer is number 1"};

}  // namespace

LaunchResult adamw(const AdamW& a, Stream stream) {
  if (a.step < 1) return kNoStep;
  return for_storage(a.moments, [&]<typename T>() {
    const std::int64_t single =
        single_values<kPack>(a.elements, a.weights, a.gradients, static_cast<T*>(a.first_moment),
                             static_cast<T*>(a.second_moment), static_cast<bf16*>(a.bf16_weights));
    return launch(adamw_kernel<T>, flat_grid(divide_up(a.elements, kPack)), stream, a, factors_of(a), single);
  });
}

LaunchResult adamw_values(const AdamW& a, Storage storage, void* values, Stream stream) {
  if (a.step < 1) return kNoStep;
  return for_storage(a.moments, [&]<typename T>() {
    return for_storage(storage, [&]<typename V>() {
      V* const to = static_cast<V*>(values);
      const std::int64_t single =
          single_values<kPack>(a.elements, a.weights, a.gradients, static_cast<const T*>(a.first_moment),
                               static_cast<const T*>(a.second_moment), to);
      return launch(adamw_values_kernel<T, V>, flat_grid(divide_up(a.elements, kPack)), stream, a, to,
                    factors_of(a), single);
    });
  });
}

}  // namespace caravan::cuda
