#include <algorithm>
#include <numeric>
#include <vector>

#include "worker/trainer/kernels/cpu_kernels.h"
#include "worker/trainer/kernels/instruction_set.h"
#include "worker/trainer/kernels/parallel_ranges.h"
#include "worker/trainer/kernels/storage_type.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "worker/trainer/kernels/sum_of_squares.cc"
#include "worker/trainer/kernels/each_instruction_set.h"
#include "worker/trainer/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace caravan::kernels::HWY_NAMESPACE {

HWY_INLINE Vector<double> load_fp64(const double* from, auto extent) {
  return load(from, extent);
}
HWY_INLINE Vector<double> load_fp64(const float* from, Whole) {
  return hn::PromoteTo(Lanes<double>(), hn::LoadU(hn::Rebind<float, Lanes<double>>(), from));
}
HWY_INLINE Vector<double> load_fp64(const float* from, Part part) {
  float all[hn::MaxLanes(Lanes<double>())] = {};
  std::copy_n(from, part.count, all);
  return load_fp64(all, Whole());
}

template <typename W>
double squares_of_elements(Range elements, const at::Tensor& values) {
  const W* const from = values.const_data_ptr<W>() + elements.begin;
  return sum<double>(elements.end - elements.begin, [=](int64_t i, auto extent) HWY_ATTR {
    const auto value = load_fp64(from + i, extent);
    return hn::Mul(value, value);
  });
}

}  // namespace caravan::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caravan::kernels::cpu {

// In parts of the same size whatever the number of threads.
void add_sum_of_squares(const at::Tensor& values, at::Tensor& sum) {
  const int64_t elements = values.numel();
  std::vector<double> parts((elements + kElementsPerTask - 1) / kElementsPerTask);
  for_wide_type(values.scalar_type(), [&]<typename W>() {
    const auto of_elements = CARAVAN_CHOOSE(squares_of_elements<W>);
    parallel_ranges(std::ssize(parts), kElementsPerTask, [&](Range these) {
      for (int64_t part = these.begin; part < these.end; ++part)
        parts[part] = of_elements(
            {.begin = part * kElementsPerTask, .end = std::min(elements, (part + 1) * kElementsPerTask)},
            values);
    });
  });
  *sum.mutable_data_ptr<double>() += std::accumulate(parts.begin(), parts.end(), 0.0);
}

}  // namespace caravan::kernels::cpu
#endif
