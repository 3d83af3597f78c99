#include "worker/trainer/cuda/convert.h"
#include "worker/trainer/cuda/packs.h"

namespace caravan::cuda {
namespace {

constexpr int kPack = kPackOf<bf16>;

template <typename From, typename To>
__global__ void convert_kernel(const From* from, To* to, std::int64_t elements, std::int64_t single) {
  for_packs<kPack>(worker_of_grid(), single, elements,
                   [&]<int kWidth>(std::int64_t i) { store<kWidth>(to + i, load<kWidth>(from + i)); });
}

template <typename T>
__global__ void accumulate_kernel(const T* terms, float* sums, std::int64_t elements, std::int64_t single) {
  for_packs<kPack>(worker_of_grid(), single, elements, [&]<int kWidth>(std::int64_t i) {
    Values<kWidth> sum = load<kWidth>(sums + i);
    const Values<kWidth> term = load<kWidth>(terms + i);
    for (int k = 0; k < kWidth; ++k) sum.item[k] += term.item[k];
    store<kWidth>(sums + i, sum);
  });
}

}  // namespace

LaunchResult convert(const Convert& a, Stream stream) {
  return for_storage(a.from_storage, [&]<typename From>() {
    return for_storage(a.to_storage, [&]<typename To>() {
      const auto* const from = static_cast<const From*>(a.from);
      auto* const to = static_cast<To*>(a.to);
      return launch(convert_kernel<From, To>, flat_grid(divide_up(a.elements, kPack)), stream, from, to,
                    a.elements, single_values<kPack>(a.elements, from, to));
    });
  });
}

LaunchResult accumulate(const Accumulate& a, Stream stream) {
  return for_storage(a.storage, [&]<typename T>() {
    const auto* const term = static_cast<const T*>(a.term);
    return launch(accumulate_kernel<T>, flat_grid(divide_up(a.elements, kPack)), stream, term, a.sum,
                  a.elements, single_values<kPack>(a.elements, term, a.sum));
  });
}

}  // namespace caravan::cuda
