#include "worker/trainer/cuda/gradient_norm.h"
#include "worker/trainer/cuda/packs.h"
#include "worker/trainer/cuda/reduce.h"

namespace caravan::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::size_t kSumsBytes = kMaxWarps * sizeof(double);

__global__ void __launch_bounds__(kThreads) squares_kernel(SquaredNorm a, std::int64_t single) {
  double sum = 0;
  for_packs<kPackOf<float>>(worker_of_grid(), single, a.elements, [&]<int kWidth>(std::int64_t i) {
    const Values<kWidth> values = load<kWidth>(a.values + i);
    for (int k = 0; k < kWidth; ++k)
      sum += static_cast<double>(values.item[k]) * static_cast<double>(values.item[k]);
  });
  sum = block_sum(sum, shared_memory<double>());
  if (threadIdx.x == 0) a.partial[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads) sum_of_parts_kernel(SquaredNorm a, std::int64_t parts) {
  double sum = 0;
  for (std::int64_t part = threadIdx.x; part < parts; part += blockDim.x) sum += a.partial[part];
  sum = block_sum(sum, shared_memory<double>());
  if (threadIdx.x == 0) *a.sum += sum;
}

}  // namespace

LaunchResult squared_norm(const SquaredNorm& a, Stream stream) {
  const std::int64_t packs = divide_up(a.elements, kPackOf<float>);
  const Grid grid{.blocks = std::min(divide_up(packs, kThreads), kSquaredNormParts),
                  .threads = kThreads,
                  .shared_bytes = kSumsBytes};
  const LaunchResult squares =
      launch(squares_kernel, grid, stream, a, single_values<kPackOf<float>>(a.elements, a.values));
  if (!squares.ok()) return squares;
  return launch(sum_of_parts_kernel, {.blocks = 1, .threads = kThreads, .shared_bytes = kSumsBytes}, stream,
                a, grid.blocks);
}

}  // namespace caravan::cuda
