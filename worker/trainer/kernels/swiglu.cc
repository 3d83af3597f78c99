#include <algorithm>

#include "worker/trainer/kernels/cpu_kernels.h"
#include "worker/trainer/kernels/instruction_set.h"
#include "worker/trainer/kernels/parallel_ranges.h"
#include "worker/trainer/kernels/storage_type.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "worker/trainer/kernels/swiglu.cc"
#include "worker/trainer/kernels/each_instruction_set.h"
#include "worker/trainer/kernels/exponential-inl.h"
#include "worker/trainer/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace caravan::kernels::HWY_NAMESPACE {

// 1 / (1 + e^−x) without large powers.
template <typename W>
HWY_INLINE Vector<W> sigmoid(Vector<W> x) {
  const Lanes<W> d;
  const auto one = hn::Set(d, W{1});
  const auto power = negative_exponential(hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), power, one), hn::Add(one, power));
}

// A run of elements of the output lies in one row or in several: calls of_part(gates, ups, offset, count).
template <typename T, typename OfPart>
HWY_INLINE void for_rows(Range elements, T* gate_up, int64_t ffn, OfPart of_part) {
  for (int64_t i = elements.begin; i < elements.end;) {
    const int64_t row = i / ffn;
    const int64_t count = std::min(elements.end, (row + 1) * ffn) - i;
    T* const gates = gate_up + row * ffn + i;
    of_part(gates, gates + ffn, i, count);
    i += count;
  }
}

template <typename T>
void forward_elements(Range elements, const at::Tensor& gate_up_T2F, at::Tensor& gated_TF) {
  using W = Wide<T>;
  T* const gated = gated_TF.mutable_data_ptr<T>();
  const auto of_part = [=](const T* gates, const T* ups, int64_t offset, int64_t count) HWY_ATTR {
    for_vectors<W>(0, count, [=](int64_t i, auto extent) HWY_ATTR {
      const Vector<W> gate = load(gates + i, extent);
      const auto silu = hn::Mul(gate, sigmoid<W>(gate));
      store(hn::Mul(silu, load(ups + i, extent)), gated + offset + i, extent);
    });
  };
  for_rows(elements, gate_up_T2F.const_data_ptr<T>(), gated_TF.size(1), of_part);
}

// silu'(x) = s + silu(x) · (1 − s) with s = sigmoid(x).
template <typename T>
void backward_elements(Range elements, at::Tensor& gate_up_T2F, at::Tensor& gradient_TF) {
  using W = Wide<T>;
  T* const gradient = gradient_TF.mutable_data_ptr<T>();
  const auto of_part = [=](T* gates, T* ups, int64_t offset, int64_t count) HWY_ATTR {
    for_vectors<W>(0, count, [=](int64_t i, auto extent) HWY_ATTR {
      const Vector<W> gate = load(gates + i, extent);
      const Vector<W> up = load(ups + i, extent);
      const Vector<W> dy = load(gradient + offset + i, extent);
      const auto s = sigmoid<W>(gate);
      const auto silu = hn::Mul(gate, s);
      const auto slope = hn::MulAdd(silu, hn::Sub(hn::Set(Lanes<W>(), W{1}), s), s);
      store(hn::Mul(hn::Mul(dy, up), slope), gates + i, extent);
      store(hn::Mul(dy, silu), ups + i, extent);
      store(hn::Mul(silu, up), gradient + offset + i, extent);
    });
  };
  for_rows(elements, gate_up_T2F.mutable_data_ptr<T>(), gradient_TF.size(1), of_part);
}

}  // namespace caravan::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caravan::kernels::cpu {

void swiglu_forward(const at::Tensor& gate_up_T2F, at::Tensor& gated_TF) {
  for_storage_type(gate_up_T2F.scalar_type(), [&]<typename T>() {
    const auto of_elements = CARAVAN_CHOOSE(forward_elements<T>);
    parallel_ranges(gated_TF.numel(), 1,
                    [&](Range elements) { of_elements(elements, gate_up_T2F, gated_TF); });
  });
}

void swiglu_backward(at::Tensor& gate_up_T2F, at::Tensor& gradient_TF) {
  for_storage_type(gate_up_T2F.scalar_type(), [&]<typename T>() {
    const auto of_elements = CARAVAN_CHOOSE(backward_elements<T>);
    parallel_ranges(gradient_TF.numel(), 1,
                    [&](Range elements) { of_elements(elements, gate_up_T2F, gradient_TF); });
  });
}

}  // namespace caravan::kernels::cpu
#endif
