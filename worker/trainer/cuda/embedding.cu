#include "worker/trainer/cuda/embedding.h"
#include "worker/trainer/cuda/packs.h"

namespace caravan::cuda {
namespace {

constexpr int kThreads = 256;

template <typename T>
__global__ void __launch_bounds__(kThreads)
    embedding_forward_kernel(EmbeddingForward a, std::int64_t single) {
  const std::int64_t row = a.token[blockIdx.x] - a.first_token;
  const bool here = row >= 0 && row < a.vocabulary;
  const T* const from = here ? static_cast<const T*>(a.table) + row * a.columns : nullptr;
  T* const to = static_cast<T*>(a.output) + std::int64_t{blockIdx.x} * a.columns;
  for_packs<kPackOf<T>>(worker_of_block(), single, a.columns, [&]<int kWidth>(std::int64_t i) {
    store<kWidth>(to + i, from == nullptr ? Values<kWidth>{} : load<kWidth>(from + i));
  });
}

// A block has a row of the table.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    embedding_backward_kernel(EmbeddingBackward a, std::int64_t single) {
  const std::int32_t begin = a.order.start[blockIdx.x];
  const std::int32_t end = a.order.start[blockIdx.x + 1];
  if (begin == end) return;
  const T* const gradient = static_cast<const T*>(a.gradient);
  float* const to = a.table_gradient + std::int64_t{a.order.row[blockIdx.x]} * a.columns;
  for_packs<kPackOf<T>>(worker_of_block(), single, a.columns, [&]<int kWidth>(std::int64_t i) {
    Values<kWidth> sum = load<kWidth>(to + i);
    for (std::int32_t place = begin; place < end; ++place) {
      const Values<kWidth> term = load<kWidth>(gradient + a.order.position[place] * a.columns + i);
      for (int k = 0; k < kWidth; ++k) sum.item[k] += term.item[k];
    }
    store<kWidth>(to + i, sum);
  });
}

}  // namespace

LaunchResult embedding_forward(const EmbeddingForward& a, Stream stream) {
  return for_storage(a.storage, [&]<typename T>() {
    constexpr int kWidth = kPackOf<T>;
    const std::int64_t single =
        single_values_of_rows<kWidth>(a.columns, static_cast<const T*>(a.table), static_cast<T*>(a.output));
    return launch(embedding_forward_kernel<T>, grid_of_rows(a.tokens, a.columns, single, kWidth, kThreads),
                  stream, a, single);
  });
}

LaunchResult embedding_backward(const EmbeddingBackward& a, Stream stream) {
  return for_storage(a.storage, [&]<typename T>() {
    constexpr int kWidth = kPackOf<T>;
    const std::int64_t single =
        single_values_of_rows<kWidth>(a.columns, static_cast<const T*>(a.gradient), a.table_gradient);
    return launch(embedding_backward_kernel<T>, grid_of_rows(a.tokens, a.columns, single, kWidth, kThreads),
                  stream, a, single);
  });
}

}  // namespace caravan::cuda
