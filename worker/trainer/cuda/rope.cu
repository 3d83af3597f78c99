#include "worker/trainer/cuda/packs.h"
#include "worker/trainer/cuda/rope.h"

namespace caravan::cuda {
namespace {

constexpr int kThreads = 256;

// Elements k and k + half of a head turn together; a block has a row, a thread a pack of pairs at a time.
template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads) rope_kernel(Rope a) {
  const std::int64_t half = a.head_dim / 2;
  const auto packs = static_cast<unsigned>(half / kWidth);
  const auto items = static_cast<unsigned>(a.heads) * packs;
  const float sign = a.rotation == Rotation::Forward ? 1.0F : -1.0F;
  T* const row = static_cast<T*>(a.values) + std::int64_t{blockIdx.x} * a.row_size;
  const float* const table = a.table + blockIdx.x % a.sequence_length * a.head_dim;
  for (unsigned item = threadIdx.x; item < items; item += blockDim.x) {
    const std::int64_t k = std::int64_t{item % packs} * kWidth;
    T* const first = row + item / packs * a.head_dim + k;
    const Values<kWidth> cosines = load<kWidth>(table + k);
    const Values<kWidth> sines = load<kWidth>(table + half + k);
    Values<kWidth> x = load<kWidth>(first);
    Values<kWidth> y = load<kWidth>(first + half);
    for (int j = 0; j < kWidth; ++j) {
      const float sine = sign * sines.item[j];
      const float turned = x.item[j] * cosines.item[j] - y.item[j] * sine;
      y.item[j] = y.item[j] * cosines.item[j] + x.item[j] * sine;
      x.item[j] = turned;
    }
    store<kWidth>(first, x);
    store<kWidth>(first + half, y);
  }
}

template <typename T, int kWidth>
LaunchResult launch_rope(const Rope& a, Stream stream) {
  const std::int64_t items = a.heads * (a.head_dim / 2 / kWidth);
  return launch(rope_kernel<T, kWidth>, {.blocks = a.rows, .threads = threads_for(items, kThreads)}, stream,
                a);
}

}  // namespace

LaunchResult rope(const Rope& a, Stream stream) {
  if (a.head_dim % 2 != 0) return {"heads of an odd size have no pairs to turn"};
  if (a.heads * a.head_dim > a.row_size) return {"rows are shorter than their heads"};
  return for_storage(a.storage, [&]<typename T>() {
    constexpr int kWidth = kPackOf<T>;
    const bool packed = a.head_dim / 2 % kWidth == 0 && a.row_size % kWidth == 0 &&
                        single_values<kWidth>(a.row_size, static_cast<T*>(a.values), a.table) == 0;
    return packed ? launch_rope<T, kWidth>(a, stream) : launch_rope<T, 1>(a, stream);
  });
}

}  // namespace caravan::cuda
