#include <cfloat>
#include <cmath>

#include "worker/trainer/cuda/cross_entropy.h"
#include "worker/trainer/cuda/packs.h"
#include "worker/trainer/cuda/reduce.h"
#include "worker/trainer/kernels/cross_entropy_statistics.h"

namespace caravan::cuda {
namespace {

using kernels::kMaximum;
using kernels::kSum;
using kernels::kTarget;

// Of some logits: the sum of exp(logit − maximum).
struct ExpSum {
  float maximum = -FLT_MAX;  // finite, so that a difference of two is a number
  float sum = 0;
};

__device__ ExpSum merged(const ExpSum& a, const ExpSum& b) {
  ExpSum both;
  both.maximum = fmaxf(a.maximum, b.maximum);
  both.sum = a.sum * expf(a.maximum - both.maximum) + b.sum * expf(b.maximum - both.maximum);
  return both;
}

__device__ ExpSum warp_merged(ExpSum value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    ExpSum other;
    other.maximum = __shfl_xor_sync(kAllLanes, value.maximum, distance);
    other.sum = __shfl_xor_sync(kAllLanes, value.sum, distance);
    value = merged(value, other);
  }
  return value;
}

// Once in a kernel: it has no barrier after the reads of `scratch`, shared memory for kMaxWarps values.
__device__ ExpSum block_merged(ExpSum value, ExpSum* scratch) {
  const unsigned lane = threadIdx.x % kWarp;
  const unsigned warp = threadIdx.x / kWarp;
  value = warp_merged(value);
  if (lane == 0) scratch[warp] = value;
  __syncthreads();
  return warp_merged(lane < blockDim.x / kWarp ? scratch[lane] : ExpSum());
}

// The column of a token's target, or -1 where it does not count or another rank has it.
__device__ std::int64_t target_column(const CrossEntropyChunk& a, std::int64_t token) {
  const std::int64_t column = a.targets[token] - a.first_token;
  return a.targets[token] >= 0 && column >= 0 && column < a.vocabulary ? column : -1;
}

template <typename T>
__global__ void __launch_bounds__(kMaxThreads) maxima_kernel(CrossEntropyChunk a) {
  const std::int64_t token = blockIdx.x;
  const T* const logits = static_cast<const T*>(a.logits) + token * a.vocabulary;
  constexpr int kPack = kPackOf<T>;
  ExpSum total;
  for_packs<kPack>(worker_of_block(), single_values<kPack>(a.vocabulary, logits), a.vocabulary,
                   [&]<int kWidth>(std::int64_t i) {
                     const Values<kWidth> values = load<kWidth>(logits + i);
                     ExpSum part;
                     for (int k = 0; k < kWidth; ++k) part.maximum = fmaxf(part.maximum, values.item[k]);
                     for (int k = 0; k < kWidth; ++k) part.sum += expf(values.item[k] - part.maximum);
                     total = merged(total, part);
                   });
  total = block_merged(total, shared_memory<ExpSum>());
  if (threadIdx.x != 0) return;
  a.statistics[kMaximum * a.tokens + token] = total.maximum;
  a.statistics[kSum * a.tokens + token] = total.sum;
  a.statistics[kTarget * a.tokens + token] = total.maximum;
}

// From this rank's maximum to that of the group.
template <typename T>
__global__ void sums_kernel(CrossEntropyChunk a) {
  const Worker worker = worker_of_grid();
  for (std::int64_t token = worker.index; token < a.tokens; token += worker.count) {
    const float maximum = a.statistics[kMaximum * a.tokens + token];
    float& target = a.statistics[kTarget * a.tokens + token];
    a.statistics[kSum * a.tokens + token] *= expf(target - maximum);
    const std::int64_t column = target_column(a, token);
    const T* const logits = static_cast<const T*>(a.logits) + token * a.vocabulary;
    target = column < 0 ? 0 : to_float(logits[column]) - maximum;
  }
}

// One block, so that the order of additions depends on the number of tokens alone.
__global__ void __launch_bounds__(kMaxThreads) loss_kernel(CrossEntropyChunk a, double* loss) {
  const Worker worker = worker_of_block();
  double sum = 0;
  for (std::int64_t token = worker.index; token < a.tokens; token += worker.count)
    if (a.targets[token] >= 0)
      sum += log(static_cast<double>(a.statistics[kSum * a.tokens + token])) -
             static_cast<double>(a.statistics[kTarget * a.tokens + token]);
  sum = block_sum(sum, shared_memory<double>());
  if (threadIdx.x == 0) *loss += sum;
}

template <typename T>
__global__ void __launch_bounds__(kMaxThreads) gradient_kernel(CrossEntropyChunk a, float scale) {
  const std::int64_t token = blockIdx.x;
  T* const logits = static_cast<T*>(a.logits) + token * a.vocabulary;
  const bool counts = a.targets[token] >= 0;
  const std::int64_t target = target_column(a, token);
  const float maximum = a.statistics[kMaximum * a.tokens + token];
  const float factor = scale / a.statistics[kSum * a.tokens + token];
  constexpr int kPack = kPackOf<T>;
  for_packs<kPack>(worker_of_block(), single_values<kPack>(a.vocabulary, logits), a.vocabulary,
                   [&]<int kWidth>(std::int64_t i) {
                     Values<kWidth> values = load<kWidth>(logits + i);
                     for (int k = 0; k < kWidth; ++k) {
                       const float probability = expf(values.item[k] - maximum) * factor;
                       const float gradient = probability - (i + k == target ? scale : 0.0F);
                       values.item[k] = counts ? gradient : 0.0F;
                     }
                     store<kWidth>(logits + i, values);
                   });
}

}  // namespace

LaunchResult cross_entropy_maxima(const CrossEntropyChunk& chunk, Stream stream) {
  return for_storage(chunk.storage, [&]<typename T>() {
    const Grid grid{.blocks = chunk.tokens,
                    .threads = threads_for(divide_up(chunk.vocabulary, kPackOf<T>)),
                    .shared_bytes = kMaxWarps * sizeof(ExpSum)};
    return launch(maxima_kernel<T>, grid, stream, chunk);
  });
}

LaunchResult cross_entropy_sums(const CrossEntropyChunk& chunk, Stream stream) {
  return for_storage(chunk.storage, [&]<typename T>() {
    return launch(sums_kernel<T>, flat_grid(chunk.tokens), stream, chunk);
  });
}

LaunchResult cross_entropy_loss(const CrossEntropyChunk& chunk, double* loss, Stream stream) {
  const Grid grid{
      .blocks = 1, .threads = threads_for(chunk.tokens), .shared_bytes = kMaxWarps * sizeof(double)};
  return launch(loss_kernel, grid, stream, chunk, loss);
}

LaunchResult cross_entropy_gradient(const CrossEntropyChunk& chunk, float scale, Stream stream) {
  return for_storage(chunk.storage, [&]<typename T>() {
    const Grid grid{.blocks = chunk.tokens, .threads = threads_for(divide_up(chunk.vocabulary, kPackOf<T>))};
    return launch(gradient_kernel<T>, grid, stream, chunk, scale);
  });
}

}  // namespace caravan::cuda
