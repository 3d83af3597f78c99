#include "worker/trainer/kernels/accumulate.h"

#include <ATen/Parallel.h>

#include "worker/trainer/kernels/storage_type.h"

namespace caravan::kernels {

void accumulate(at::Tensor& sum, const at::Tensor& term) {
  constexpr int64_t kElementsPerTask = 1 << 15;
  for_storage_type(term.scalar_type(), [&]<typename T>() {
    using W = Wide<T>;
    W* const to = sum.mutable_data_ptr<W>();
    const T* const from = term.const_data_ptr<T>();
    at::parallel_for(0, term.numel(), kElementsPerTask, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] += static_cast<W>(from[i]);
    });
  });
}

}  // namespace caravan::kernels
