#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

#include "planner/work/constants.h"
#include "worker/trainer/kernels/cpu_kernels.h"
#include "worker/trainer/kernels/instruction_set.h"
#include "worker/trainer/kernels/parallel_ranges.h"
#include "worker/trainer/kernels/storage_type.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "worker/trainer/kernels/rms_norm.cc"
#include "worker/trainer/kernels/each_instruction_set.h"
#include "worker/trainer/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace caravan::kernels::HWY_NAMESPACE {

template <typename T>
void add_row(T* x, const T* residual, int64_t columns) {
  for_vectors<Wide<T>>(0, columns, [=](int64_t i, auto extent) HWY_ATTR {
    store(hn::Add(load(x + i, extent), load(residual + i, extent)), x + i, extent);
  });
}

template <typename T>
Wide<T> scale_of_row(const T* x, int64_t columns, double eps) {
  using W = Wide<T>;
  const W squares = sum<W>(columns, [=](int64_t i, auto extent) HWY_ATTR {
    const Vector<W> value = load(x + i, extent);
    return hn::Mul(value, value);
  });
  return W{1} / std::sqrt(squares / static_cast<W>(columns) + static_cast<W>(eps));
}

template <typename T>
void apply_to_row(const T* x, const T* w, Wide<T> scale, T* y, int64_t columns) {
  const auto scales = hn::Set(Lanes<Wide<T>>(), scale);
  for_vectors<Wide<T>>(0, columns, [=](int64_t i, auto extent) HWY_ATTR {
    store(hn::Mul(hn::Mul(load(x + i, extent), scales), load(w + i, extent)), y + i, extent);
  });
}

template <typename T>
void forward_rows(Range rows, const at::Tensor& x_TD, const at::Tensor& residual_TD, const at::Tensor& w_D,
                  double eps, const Normed& normed) {
  const int64_t columns = x_TD.size(1);
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const int64_t at = row * columns;
    const T* const x = x_TD.const_data_ptr<T>() + at;
    if (residual_TD.defined())
      add_row(x_TD.mutable_data_ptr<T>() + at, residual_TD.const_data_ptr<T>() + at, columns);
    const Wide<T> scale = scale_of_row<T>(x, columns, eps);
    normed.scale_T.mutable_data_ptr<Wide<T>>()[row] = scale;
    apply_to_row<T>(x, w_D.const_data_ptr<T>(), scale, normed.y_TD.mutable_data_ptr<T>() + at, columns);
  }
}

template <typename T>
void apply_rows(Range rows, const at::Tensor& x_TD, const at::Tensor& w_D, const at::Tensor& scale_T,
                at::Tensor& y_TD) {
  const int64_t columns = x_TD.size(1);
  for (int64_t row = rows.begin; row < rows.end; ++row)
    apply_to_row(x_TD.const_data_ptr<T>() + row * columns, w_D.const_data_ptr<T>(),
                 scale_T.const_data_ptr<Wide<T>>()[row], y_TD.mutable_data_ptr<T>() + row * columns, columns);
}

// With n = x · scale and g = dy · w:  dw += dy · n,  dx = scale · (g − n · mean(g · n)).
template <typename T>
void backward_row(T* gradient, const T* x, const T* w, Wide<T> scale, const T* residual, Wide<T>* dw,
                  int64_t columns) {
  using W = Wide<T>;
  const Lanes<W> d;
  const auto scales = hn::Set(d, scale);
  const W dot = sum<W>(columns, [=](int64_t i, auto extent) HWY_ATTR {
    const Vector<W> dy = load(gradient + i, extent);
    const Vector<W> value = load(x + i, extent);
    store(hn::MulAdd(dy, hn::Mul(value, scales), load(dw + i, extent)), dw + i, extent);
    return hn::Mul(hn::Mul(dy, load(w + i, extent)), value);
  });
  const auto slope = hn::Set(d, dot * scale * scale / static_cast<W>(columns));
  for_vectors<W>(0, columns, [=](int64_t i, auto extent) HWY_ATTR {
    const auto g = hn::Mul(load(gradient + i, extent), load(w + i, extent));
    auto dx = hn::Mul(scales, hn::NegMulAdd(load(x + i, extent), slope, g));
    if (residual != nullptr) dx = hn::Add(dx, load(residual + i, extent));
    store(dx, gradient + i, extent);
  });
}

// dw: of these rows alone.
template <typename T>
void backward_rows(Range rows, at::Tensor& gradient_TD, const at::Tensor& x_TD, const at::Tensor& w_D,
                   const at::Tensor& scale_T, const at::Tensor& residual_TD, Wide<T>* dw) {
  const int64_t columns = x_TD.size(1);
  std::fill_n(dw, columns, Wide<T>{0});
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const int64_t at = row * columns;
    backward_row<T>(gradient_TD.mutable_data_ptr<T>() + at, x_TD.const_data_ptr<T>() + at,
                    w_D.const_data_ptr<T>(), scale_T.const_data_ptr<Wide<T>>()[row],
                    residual_TD.defined() ? residual_TD.const_data_ptr<T>() + at : nullptr, dw, columns);
  }
}

template <typename W>
void add_partial_sums(Range columns, const at::Tensor& partial_PD, at::Tensor& dw_D) {
  W* const dw = dw_D.mutable_data_ptr<W>();
  const W* const partial = partial_PD.const_data_ptr<W>();
  for_vectors<W>(columns.begin, columns.end, [&](int64_t i, auto extent) HWY_ATTR {
    auto sum = load(dw + i, extent);
    for (int64_t row = 0; row < partial_PD.size(0); ++row)
      sum = hn::Add(sum, load(partial + row * partial_PD.size(1) + i, extent));
    store(sum, dw + i, extent);
  });
}

}  // namespace caravan::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caravan::kernels::cpu {

void rms_norm(const at::Tensor& x_TD, const at::Tensor& residual_TD, const at::Tensor& w_D, double eps,
              const Normed& normed) {
  for_storage_type(x_TD.scalar_type(), [&]<typename T>() {
    const auto of_rows = CARAVAN_CHOOSE(forward_rows<T>);
    parallel_ranges(x_TD.size(0), x_TD.size(1),
                    [&](Range rows) { of_rows(rows, x_TD, residual_TD, w_D, eps, normed); });
  });
}

void rms_norm_apply(const at::Tensor& x_TD, const at::Tensor& w_D, const at::Tensor& scale_T,
                    at::Tensor& y_TD) {
  for_storage_type(x_TD.scalar_type(), [&]<typename T>() {
    const auto to_rows = CARAVAN_CHOOSE(apply_rows<T>);
    parallel_ranges(x_TD.size(0), x_TD.size(1), [&](Range rows) { to_rows(rows, x_TD, w_D, scale_T, y_TD); });
  });
}

// The weight's gradient is added up in as many parts as the number of rows asks for, whatever the number of
// threads.
void rms_norm_backward(at::Tensor& gradient_TD, const at::Tensor& x_TD, const at::Tensor& w_D,
                       const at::Tensor& scale_T, const at::Tensor& residual_TD, at::Tensor& dw_D) {
  const int64_t rows = x_TD.size(0);
  const int64_t columns = x_TD.size(1);
  const int64_t parts = planner::norm_gradient_parts(rows, /*gpu=*/false);
  at::Tensor partial_PD = at::empty({parts, columns}, dw_D.options());
  for_storage_type(x_TD.scalar_type(), [&]<typename T>() {
    using W = Wide<T>;
    W* const partial = partial_PD.mutable_data_ptr<W>();
    const auto of_rows = CARAVAN_CHOOSE(backward_rows<T>);
    parallel_ranges(parts, columns * rows / parts, [&](Range these) {
      for (int64_t part = these.begin; part < these.end; ++part)
        of_rows({.begin = part * rows / parts, .end = (part + 1) * rows / parts}, gradient_TD, x_TD, w_D,
                scale_T, residual_TD, partial + part * columns);
    });
    const auto of_columns = CARAVAN_CHOOSE(add_partial_sums<W>);
    parallel_ranges(columns, parts, [&](Range these) { of_columns(these, partial_PD, dw_D); });
  });
}

}  // namespace caravan::kernels::cpu
#endif
