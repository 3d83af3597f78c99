#include "worker/trainer/comm/ordered_reduction.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

namespace caravan::trainer {
namespace {

constexpr int64_t kBlock = 512;           // elements, on the stack
constexpr int64_t kPerThread = 32 << 10;  // elements that are worth a thread

struct Add {
  template <typename Wide>
  static Wide of(Wide a, Wide b) {
    return a + b;
  }
};

template <typename Wide>
bool is_nan(Wide value) {
  if constexpr (std::is_floating_point_v<Wide>) return std::isnan(value);
  return false;
}

struct Larger {
  template <typename Wide>
  static Wide of(Wide a, Wide b) {
    return b > a || is_nan(b) ? b : a;
  }
};

template <typename Operation, typename Element>
void reduce_block(Element* target, std::span<const void* const> sources, int64_t begin, int64_t size) {
  using Wide = at::opmath_type<Element>;
  std::array<Wide, kBlock> result;
  const auto* first = static_cast<const Element*>(sources[0]) + begin;
  for (int64_t i = 0; i < size; ++i) result[i] = static_cast<Wide>(first[i]);
  for (const void* source : sources.subspan(1)) {
    const auto* term = static_cast<const Element*>(source) + begin;
    for (int64_t i = 0; i < size; ++i)
      result[i] = Operation::template of<Wide>(result[i], static_cast<Wide>(term[i]));
  }
  for (int64_t i = 0; i < size; ++i) target[begin + i] = static_cast<Element>(result[i]);
}

template <typename Operation, typename Element>
void reduce(void* target, std::span<const void* const> sources, int64_t elements) {
  at::parallel_for(0, elements, kPerThread, [&](int64_t begin, int64_t end) {
    for (; begin < end; begin += kBlock)
      reduce_block<Operation>(static_cast<Element*>(target), sources, begin, std::min(kBlock, end - begin));
  });
}

}  // namespace

void reduce_in_order(Reduction reduction, at::ScalarType type, void* target,
                     std::span<const void* const> sources, int64_t elements) {
  AT_DISPATCH_ALL_TYPES_AND2(at::kBFloat16, at::kHalf, type, "reduce_in_order", [&] {
    if (reduction == Reduction::Sum) return reduce<Add, scalar_t>(target, sources, elements);
    reduce<Larger, scalar_t>(target, sources, elements);
  });
}

}  // namespace caravan::trainer
