#include "worker/trainer/cuda/normal.h"
#include "worker/trainer/cuda/packs.h"
#include "worker/trainer/kernels/normal_block.h"

namespace caravan::cuda {
namespace {

constexpr int kPair = 2;                           // numbers that are made at once
constexpr int kPairs = kernels::kNormals / kPair;  // of a block of random ones

// A thread has a pair of numbers at a time, of which the first and the last may lie half outside.
template <typename T>
__global__ void __launch_bounds__(kFlatThreads) normal_kernel(FillNormal a, std::int64_t pairs) {
  T* const values = static_cast<T*>(a.values);
  const Worker worker = worker_of_grid();
  for (std::int64_t n = worker.index; n < pairs; n += worker.count) {
    const auto pair = static_cast<std::uint64_t>(a.first_index / kPair + n);
    const kernels::RandomBlock random = kernels::philox(a.key, pair / kPairs);
    double normal[kPair];
    kernels::normal_pair(random, pair % kPairs != 0, normal);
    for (int k = 0; k < kPair; ++k) {
      const std::int64_t i = n * kPair + k - a.first_index % kPair;
      if (i >= 0 && i < a.elements)
        values[i] = from_float<T>(static_cast<float>(normal[k] * a.standard_deviation));
    }
  }
}

}  // namespace

LaunchResult fill_normal(const FillNormal& a, Stream stream) {
  if (a.elements == 0) return {};
  return for_storage(a.storage, [&]<typename T>() {
    const std::int64_t pairs = divide_up(a.first_index % kPair + a.elements, kPair);
    return launch(normal_kernel<T>, flat_grid(pairs), stream, a, pairs);
  });
}

}  // namespace caravan::cuda
