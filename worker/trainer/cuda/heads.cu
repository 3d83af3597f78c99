#include "worker/trainer/cuda/heads.h"
#include "worker/trainer/cuda/packs.h"

namespace caravan::cuda {
namespace {

constexpr int kThreads = 256;

// A block has a row, a thread a pack of a head at a time.
template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads) place_heads_kernel(PlaceHeads a) {
  const auto packs = static_cast<unsigned>(a.head_dim / kWidth);
  const auto items = static_cast<unsigned>(a.heads) * packs;
  const std::int64_t sequence = blockIdx.x / a.tokens, token = blockIdx.x % a.tokens;
  const T* const from =
      static_cast<const T*>(a.values) + sequence * a.sequence_stride + token * a.token_stride;
  T* const to = static_cast<T*>(a.rows) + std::int64_t{blockIdx.x} * a.row_size + a.first_head * a.head_dim;
  for (unsigned item = threadIdx.x; item < items; item += blockDim.x) {
    const std::int64_t k = std::int64_t{item % packs} * kWidth;
    const T* const values = from + item / packs * a.head_stride + k;
    store<kWidth>(to + item / packs * a.head_dim + k, load<kWidth>(values));
  }
}

template <typename T, int kWidth>
LaunchResult launch_place_heads(const PlaceHeads& a, Stream stream) {
  const Grid grid{.blocks = a.sequences * a.tokens,
                  .threads = threads_for(a.heads * (a.head_dim / kWidth), kThreads)};
  return launch(place_heads_kernel<T, kWidth>, grid, stream, a);
}

}  // namespace

LaunchResult place_heads(const PlaceHeads& a, Stream stream) {
  if ((a.first_head + a.heads) * a.head_dim > a.row_size) return {"rows are shorter than their heads"};
  return for_storage(a.storage, [&]<typename T>() {
    constexpr int kWidth = kPackOf<T>;
    const auto in_packs = [](std::int64_t values) { return values % kWidth == 0; };
    const bool packed =
        in_packs(a.head_dim) && in_packs(a.row_size) && in_packs(a.sequence_stride) &&
        in_packs(a.token_stride) && in_packs(a.head_stride) &&
        single_values<kWidth>(a.row_size, static_cast<const T*>(a.values), static_cast<T*>(a.rows)) == 0;
    return packed ? launch_place_heads<T, kWidth>(a, stream) : launch_place_heads<T, 1>(a, stream);
  });
}

}  // namespace caravan::cuda
