#include "worker/trainer/kernels/rms_norm.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cmath>

#include "worker/trainer/kernels/storage_type.h"
#include "worker/trainer/memory/ledger.h"

namespace caravan::kernels {
namespace {

constexpr int64_t kRowsPerTask = 16;
constexpr int64_t kColumnsPerTask = 256;

// dw += Σ_T dy · x · scale, a block of columns at a time, so that threads never share a sum.
template <typename T>
void add_weight_gradient(const at::Tensor& dy_TD, const at::Tensor& x_TD, const at::Tensor& scale_T,
                         at::Tensor& dw_D) {
  using W = Wide<T>;
  const int64_t rows = x_TD.size(0);
  const int64_t columns = x_TD.size(1);
  const T* const dy = dy_TD.const_data_ptr<T>();
  const T* const x = x_TD.const_data_ptr<T>();
  const W* const scale = scale_T.const_data_ptr<W>();
  W* const dw = dw_D.mutable_data_ptr<W>();
  const int64_t blocks = (columns + kColumnsPerTask - 1) / kColumnsPerTask;
  at::parallel_for(0, blocks, 1, [&](int64_t first_block, int64_t last_block) {
    for (int64_t block = first_block; block < last_block; ++block) {
      const int64_t begin = block * kColumnsPerTask;
      const int64_t width = std::min(kColumnsPerTask, columns - begin);
      W sum[kColumnsPerTask] = {};
      for (int64_t row = 0; row < rows; ++row) {
        const T* const dy_row = dy + row * columns + begin;
        const T* const x_row = x + row * columns + begin;
        for (int64_t i = 0; i < width; ++i)
          sum[i] += static_cast<W>(dy_row[i]) * (static_cast<W>(x_row[i]) * scale[row]);
      }
      for (int64_t i = 0; i < width; ++i) dw[begin + i] += sum[i];
    }
  });
}

// With n = x · scale and g = dy · w:  dx = scale · (g − n · mean(g · n)).
template <typename T>
void turn_into_input_gradient(T* gradient, const T* x, const T* w, Wide<T> scale, const T* residual,
                              int64_t columns) {
  using W = Wide<T>;
  const W dot = sum_in_lanes<W>(columns, [&](int64_t i) {
    return static_cast<W>(gradient[i]) * static_cast<W>(w[i]) * static_cast<W>(x[i]);
  });
  const W slope = dot * scale * scale / static_cast<W>(columns);
  for (int64_t i = 0; i < columns; ++i) {
    const W g = static_cast<W>(gradient[i]) * static_cast<W>(w[i]);
    const W dx = scale * (g - static_cast<W>(x[i]) * slope);
    gradient[i] = static_cast<T>(residual == nullptr ? dx : dx + static_cast<W>(residual[i]));
  }
}

}  // namespace

at::Tensor rms_norm_scale(const at::Tensor& x_TD, double eps) {
  const int64_t columns = x_TD.size(1);
  at::Tensor scale_T = at::empty({x_TD.size(0)}, x_TD.options().dtype(wide_type(x_TD.scalar_type())));
  for_storage_type(x_TD.scalar_type(), [&]<typename T>() {
    using W = Wide<T>;
    const T* const x = x_TD.const_data_ptr<T>();
    W* const scale = scale_T.mutable_data_ptr<W>();
    at::parallel_for(0, x_TD.size(0), kRowsPerTask, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* const x_row = x + row * columns;
        const W squares = sum_in_lanes<W>(
            columns, [&](int64_t i) { return static_cast<W>(x_row[i]) * static_cast<W>(x_row[i]); });
        scale[row] = W{1} / std::sqrt(squares / static_cast<W>(columns) + static_cast<W>(eps));
      }
    });
  });
  return scale_T;
}

at::Tensor rms_norm_apply(const at::Tensor& x_TD, const at::Tensor& w_D, const at::Tensor& scale_T) {
  const trainer::ChargeAs charge(trainer::MemoryUse::Workspace);
  const int64_t columns = x_TD.size(1);
  at::Tensor y_TD = at::empty_like(x_TD);
  for_storage_type(x_TD.scalar_type(), [&]<typename T>() {
    using W = Wide<T>;
    const T* const x = x_TD.const_data_ptr<T>();
    const T* const w = w_D.const_data_ptr<T>();
    const W* const scale = scale_T.const_data_ptr<W>();
    T* const y = y_TD.mutable_data_ptr<T>();
    at::parallel_for(0, x_TD.size(0), kRowsPerTask, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        for (int64_t i = 0; i < columns; ++i)
          y[row * columns + i] =
              static_cast<T>(static_cast<W>(x[row * columns + i]) * scale[row] * static_cast<W>(w[i]));
    });
  });
  return y_TD;
}

void rms_norm_backward(at::Tensor& gradient_TD, const at::Tensor& x_TD, const at::Tensor& w_D,
                       const at::Tensor& scale_T, const at::Tensor& residual_TD, at::Tensor& dw_D) {
  const int64_t columns = x_TD.size(1);
  for_storage_type(x_TD.scalar_type(), [&]<typename T>() {
    using W = Wide<T>;
    add_weight_gradient<T>(gradient_TD, x_TD, scale_T, dw_D);
    T* const gradient = gradient_TD.mutable_data_ptr<T>();
    const T* const x = x_TD.const_data_ptr<T>();
    const T* const w = w_D.const_data_ptr<T>();
    const W* const scale = scale_T.const_data_ptr<W>();
    const T* const residual = residual_TD.defined() ? residual_TD.const_data_ptr<T>() : nullptr;
    at::parallel_for(0, x_TD.size(0), kRowsPerTask, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t at = row * columns;
        turn_into_input_gradient<T>(gradient + at, x + at, w, scale[row],
                                    residual == nullptr ? nullptr : residual + at, columns);
      }
    });
  });
}

}  // namespace caravan::kernels
