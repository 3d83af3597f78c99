#include "worker/trainer/cuda/packs.h"
#include "worker/trainer/cuda/reduce.h"
#include "worker/trainer/cuda/rms_norm.h"

namespace caravan::cuda {
namespace {

// Shared memory of a block: what its sums are made in, then a row of fp32 values. A thread reads back from
// the row only what it has written itself.
__device__ float* sums_memory() {
  return shared_memory<float>();
}
__device__ float* row_memory() {
  return shared_memory<float>() + kMaxWarps;
}
std::size_t memory_of(std::int64_t columns) {
  return (kMaxWarps + static_cast<std::size_t>(columns)) * sizeof(float);
}

template <typename T, typename From>
__device__ void normalise(const From* x, const T* weight, float scale, T* output, std::int64_t single,
                          std::int64_t columns) {
  for_packs<kPackOf<T>>(worker_of_block(), single, columns, [&]<int kWidth>(std::int64_t i) {
    Values<kWidth> values = load<kWidth>(x + i);
    const Values<kWidth> weights = load<kWidth>(weight + i);
    for (int k = 0; k < kWidth; ++k) values.item[k] = values.item[k] * scale * weights.item[k];
    store<kWidth>(output + i, values);
  });
}

template <typename T>
__global__ void __launch_bounds__(kMaxThreads) add_rms_norm_kernel(AddRmsNorm a, std::int64_t single) {
  const std::int64_t start = std::int64_t{blockIdx.x} * a.columns;
  T* const residual = static_cast<T*>(a.residual) + start;
  const T* const x = a.x == nullptr ? nullptr : static_cast<const T*>(a.x) + start;
  T* const output = static_cast<T*>(a.output) + start;
  const T* const weight = static_cast<const T*>(a.weight);
  float* const row = row_memory();
  float squares = 0;
  for_packs<kPackOf<T>>(worker_of_block(), single, a.columns, [&]<int kWidth>(std::int64_t i) {
    Values<kWidth> sum = load<kWidth>(residual + i);
    if (x != nullptr) {
      const Values<kWidth> addend = load<kWidth>(x + i);
      for (int k = 0; k < kWidth; ++k) sum.item[k] = rounded<T>(sum.item[k] + addend.item[k]);
      store<kWidth>(residual + i, sum);
    }
    for (int k = 0; k < kWidth; ++k) squares += sum.item[k] * sum.item[k];
    store<kWidth, SharedMemory>(row + i, sum);
  });
  const float mean = block_sum(squares, sums_memory()) / static_cast<float>(a.columns);
  const float scale = rsqrtf(mean + a.epsilon);
  if (threadIdx.x == 0) a.scale[blockIdx.x] = scale;
  normalise(row, weight, scale, output, single, a.columns);
}

template <typename T>
__global__ void __launch_bounds__(kMaxThreads) rms_norm_apply_kernel(RmsNormApply a, std::int64_t single) {
  const std::int64_t start = std::int64_t{blockIdx.x} * a.columns;
  const T* const x = static_cast<const T*>(a.x) + start;
  T* const output = static_cast<T*>(a.output) + start;
  const T* const weight = static_cast<const T*>(a.weight);
  normalise(x, weight, a.scale[blockIdx.x], output, single, a.columns);
}

// A row of the backward, with n = x · scale and g = dy · w:  dx = scale · (g − n · mean(g · n)).
template <typename T>
struct BackwardRow {
  T* gradient;
  const T* residual_gradient;
  const T* x;
  const T* weight;
  float scale;
};

template <typename T>
__device__ BackwardRow<T> backward_row(const RmsNormBackward& a, std::int64_t row) {
  const std::int64_t start = row * a.columns;
  const T* const residual = static_cast<const T*>(a.residual_gradient);
  return {.gradient = static_cast<T*>(a.gradient) + start,
          .residual_gradient = residual == nullptr ? nullptr : residual + start,
          .x = static_cast<const T*>(a.x) + start,
          .weight = static_cast<const T*>(a.weight),
          .scale = a.scale[row]};
}

// Adds this row's part of the weight's gradient to the sums, and returns this thread's part of g · x.
template <typename T>
__device__ float add_weight_gradient(const BackwardRow<T>& row, std::int64_t single, std::int64_t columns,
                                     float* sums) {
  float product = 0;
  for_packs<kPackOf<T>>(worker_of_block(), single, columns, [&]<int kWidth>(std::int64_t i) {
    const Values<kWidth> gradient = load<kWidth>(row.gradient + i);
    const Values<kWidth> x = load<kWidth>(row.x + i);
    const Values<kWidth> weight = load<kWidth>(row.weight + i);
    Values<kWidth> sum = load<kWidth>(sums + i);
    for (int k = 0; k < kWidth; ++k) {
      product += gradient.item[k] * weight.item[k] * x.item[k];
      sum.item[k] += gradient.item[k] * (x.item[k] * row.scale);
    }
    store<kWidth, SharedMemory>(sums + i, sum);
  });
  return product;
}

template <typename T>
__device__ void turn_into_input_gradient(const BackwardRow<T>& row, std::int64_t single, std::int64_t columns,
                                         float slope) {
  for_packs<kPackOf<T>>(worker_of_block(), single, columns, [&]<int kWidth>(std::int64_t i) {
    Values<kWidth> gradient = load<kWidth>(row.gradient + i);
    const Values<kWidth> x = load<kWidth>(row.x + i);
    const Values<kWidth> weight = load<kWidth>(row.weight + i);
    for (int k = 0; k < kWidth; ++k)
      gradient.item[k] = row.scale * (gradient.item[k] * weight.item[k] - x.item[k] * slope);
    if (row.residual_gradient != nullptr) {
      const Values<kWidth> residual = load<kWidth>(row.residual_gradient + i);
      for (int k = 0; k < kWidth; ++k) gradient.item[k] += residual.item[k];
    }
    store<kWidth>(row.gradient + i, gradient);
  });
}

constexpr int kBackwardThreads = 512;  // a thread of a larger block would not have the registers

__device__ float slope_of(float dot, float scale, std::int64_t columns) {
  return dot * scale * scale / static_cast<float>(columns);
}

// Block b takes the rows b, b + gridDim.x, ..., and leaves its sums in row b of the partial ones.
template <typename T>
__global__ void __launch_bounds__(kBackwardThreads)
    rms_norm_backward_kernel(RmsNormBackward a, std::int64_t single) {
  float* const sums = row_memory();
  for_packs<kPackOf<T>>(worker_of_block(), single, a.columns, [&]<int kWidth>(std::int64_t i) {
    store<kWidth, SharedMemory>(sums + i, Values<kWidth>{});
  });
  for (std::int64_t r = blockIdx.x; r < a.rows; r += gridDim.x) {
    const BackwardRow<T> row = backward_row<T>(a, r);
    const float dot = block_sum(add_weight_gradient(row, single, a.columns, sums), sums_memory());
    turn_into_input_gradient(row, single, a.columns, slope_of(dot, row.scale, a.columns));
  }
  float* const partial = a.partial + std::int64_t{blockIdx.x} * a.columns;
  for_packs<kPackOf<T>>(worker_of_block(), single, a.columns, [&]<int kWidth>(std::int64_t i) {
    store<kWidth>(partial + i, load<kWidth>(sums + i));
  });
}

// What a thread needs of a row for both of its gradients, as it is stored.
struct RowWords {
  uint4 gradient, x;
  float scale;
};

template <typename T>
__device__ RowWords row_words(const RmsNormBackward& a, std::int64_t row, std::int64_t column) {
  RowWords words{};
  if (row >= a.rows) return words;
  const BackwardRow<T> from = backward_row<T>(a, row);
  words.scale = from.scale;
  if (column >= a.columns) return words;
  words.gradient = load_words(from.gradient + column);
  words.x = load_words(from.x + column);
  return words;
}

// Zeros where there is none.
template <typename T>
__device__ uint4 residual_words(const RmsNormBackward& a, std::int64_t row, std::int64_t column) {
  if (a.residual_gradient == nullptr || column >= a.columns) return uint4{};
  return load_words(static_cast<const T*>(a.residual_gradient) + row * a.columns + column);
}

// The same for rows that are no longer than a pack for each thread: sums stay in registers, every value is
// read once, and the next row is on its way while the block adds up this one. Two blocks share a
// multiprocessor.
template <typename T>
__global__ void __launch_bounds__(kBackwardThreads, 2) rms_norm_backward_of_short_rows(RmsNormBackward a) {
  constexpr int kWidth = kPackOf<T>;
  const std::int64_t column = std::int64_t{threadIdx.x} * kWidth;
  const bool has_columns = column < a.columns;
  const uint4 weight_words = has_columns ? load_words(static_cast<const T*>(a.weight) + column) : uint4{};
  RowWords next = row_words<T>(a, blockIdx.x, column);
  Values<kWidth> sums{};
  for (std::int64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
    const RowWords words = next;
    next = row_words<T>(a, row + gridDim.x, column);
    const uint4 residual = residual_words<T>(a, row, column);
    Values<kWidth> gradient = values_of<T>(words.gradient);
    const Values<kWidth> x = values_of<T>(words.x), weight = values_of<T>(weight_words);
    float product = 0;
    for (int k = 0; k < kWidth; ++k) {
      product += gradient.item[k] * weight.item[k] * x.item[k];
      sums.item[k] += gradient.item[k] * (x.item[k] * words.scale);
    }
    const float slope = slope_of(block_sum(product, sums_memory()), words.scale, a.columns);
    const Values<kWidth> addend = values_of<T>(residual);
    for (int k = 0; k < kWidth; ++k)
      gradient.item[k] =
          words.scale * (gradient.item[k] * weight.item[k] - x.item[k] * slope) + addend.item[k];
    if (has_columns) store<kWidth>(static_cast<T*>(a.gradient) + row * a.columns + column, gradient);
  }
  if (has_columns) store<kWidth>(a.partial + std::int64_t{blockIdx.x} * a.columns + column, sums);
}

// A warp adds up every eighth of the partial rows for a column a lane, then the first warp what these have
// made of it.
constexpr unsigned kColumnWarps = 8;
constexpr unsigned kColumnThreads = kColumnWarps * kWarp;

__global__ void __launch_bounds__(kColumnThreads)
    weight_gradient_kernel(RmsNormBackward a, std::int64_t partial_rows) {
  float* const sums = shared_memory<float>();
  const unsigned lane = threadIdx.x % kWarp;
  const unsigned warp = threadIdx.x / kWarp;
  const std::int64_t column = std::int64_t{blockIdx.x} * kWarp + lane;
  float sum = 0;
  if (column < a.columns)
    for (std::int64_t row = warp; row < partial_rows; row += kColumnWarps)
      sum += a.partial[row * a.columns + column];
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (warp != 0 || column >= a.columns) return;
  for (unsigned other = 1; other < kColumnWarps; ++other) sum += sums[other * kWarp + lane];
  a.weight_gradient[column] += sum;
}

LaunchResult add_up_weight_gradient(const RmsNormBackward& a, std::int64_t partial_rows, Stream stream) {
  const Grid grid{.blocks = divide_up(a.columns, kWarp),
                  .threads = kColumnThreads,
                  .shared_bytes = kColumnThreads * sizeof(float)};
  return launch(weight_gradient_kernel, grid, stream, a, partial_rows);
}

}  // namespace

LaunchResult add_rms_norm(const AddRmsNorm& a, Stream stream) {
  return for_storage(a.storage, [&]<typename T>() {
    constexpr int kWidth = kPackOf<T>;
    const std::int64_t single =
        single_values_of_rows<kWidth>(a.columns, static_cast<T*>(a.residual), static_cast<const T*>(a.x),
                                      static_cast<T*>(a.output), static_cast<const T*>(a.weight));
    Grid grid = grid_of_rows(a.rows, a.columns, single, kWidth, kMaxThreads);
    grid.shared_bytes = memory_of(a.columns);
    return launch(add_rms_norm_kernel<T>, grid, stream, a, single);
  });
}

LaunchResult rms_norm_apply(const RmsNormApply& a, Stream stream) {
  return for_storage(a.storage, [&]<typename T>() {
    constexpr int kWidth = kPackOf<T>;
    const std::int64_t single = single_values_of_rows<kWidth>(
        a.columns, static_cast<const T*>(a.x), static_cast<T*>(a.output), static_cast<const T*>(a.weight));
    const Grid grid = grid_of_rows(a.rows, a.columns, single, kWidth, kMaxThreads);
    return launch(rms_norm_apply_kernel<T>, grid, stream, a, single);
  });
}

LaunchResult rms_norm_backward(const RmsNormBackward& a, Stream stream) {
  const std::int64_t partial_rows = std::min(a.rows, kRmsNormPartialRows);
  const LaunchResult gradients = for_storage(a.storage, [&]<typename T>() {
    constexpr int kWidth = kPackOf<T>;
    const std::int64_t single = single_values_of_rows<kWidth>(
        a.columns, static_cast<T*>(a.gradient), static_cast<const T*>(a.residual_gradient),
        static_cast<const T*>(a.x), static_cast<const T*>(a.weight), a.partial);
    Grid grid = grid_of_rows(partial_rows, a.columns, single, kWidth, kBackwardThreads);
    if (single == 0 && a.columns <= std::int64_t{grid.threads} * kWidth) {
      grid.shared_bytes = memory_of(0);
      return launch(rms_norm_backward_of_short_rows<T>, grid, stream, a);
    }
    grid.shared_bytes = memory_of(a.columns);
    return launch(rms_norm_backward_kernel<T>, grid, stream, a, single);
  });
  return gradients.ok() ? add_up_weight_gradient(a, partial_rows, stream) : gradients;
}

}  // namespace caravan::cuda
