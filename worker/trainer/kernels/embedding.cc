#include "worker/trainer/kernels/embedding.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "worker/trainer/kernels/storage_type.h"

namespace caravan::kernels {
namespace {

constexpr int64_t kRowsPerTask = 16;
constexpr int64_t kColumnsPerTask = 256;

}  // namespace

at::Tensor embedding_forward(const at::Tensor& tokens, const at::Tensor& table_VD, int64_t first_token) {
  const int64_t columns = table_VD.size(1);
  at::Tensor y_TD = at::empty({tokens.numel(), columns}, table_VD.options());
  for_storage_type(table_VD.scalar_type(), [&]<typename T>() {
    const int64_t* const token = tokens.const_data_ptr<int64_t>();
    const T* const table = table_VD.const_data_ptr<T>();
    T* const y = y_TD.mutable_data_ptr<T>();
    at::parallel_for(0, tokens.numel(), kRowsPerTask, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t local = token[row] - first_token;
        if (local >= 0 && local < table_VD.size(0)) {
          std::copy_n(table + local * columns, columns, y + row * columns);
        } else {
          std::fill_n(y + row * columns, columns, T{0});
        }
      }
    });
  });
  return y_TD;
}

void embedding_backward(const at::Tensor& dy_TD, const at::Tensor& tokens, at::Tensor& dtable_VD,
                        int64_t first_token) {
  const int64_t columns = dtable_VD.size(1);
  for_storage_type(dy_TD.scalar_type(), [&]<typename T>() {
    using W = Wide<T>;
    const int64_t* const token = tokens.const_data_ptr<int64_t>();
    const T* const dy = dy_TD.const_data_ptr<T>();
    W* const dtable = dtable_VD.mutable_data_ptr<W>();
    // Threads share columns out, not tokens: a row may be hit many times, and always in the same order.
    at::parallel_for(0, columns, kColumnsPerTask, [&](int64_t begin, int64_t end) {
      for (int64_t row = 0; row < tokens.numel(); ++row) {
        const int64_t local = token[row] - first_token;
        if (local < 0 || local >= dtable_VD.size(0)) continue;
        for (int64_t i = begin; i < end; ++i)
          dtable[local * columns + i] += static_cast<W>(dy[row * columns + i]);
      }
    });
  });
}

}  // namespace caravan::kernels
