#include <ATen/ops/empty.h>

#include <cmath>
#include <numbers>

#include "worker/trainer/kernels/cpu_kernels.h"
#include "worker/trainer/kernels/instruction_set.h"
#include "worker/trainer/kernels/parallel_ranges.h"
#include "worker/trainer/kernels/storage_type.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "worker/trainer/kernels/rope.cc"
#include "worker/trainer/kernels/each_instruction_set.h"
#include "worker/trainer/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace caravan::kernels::HWY_NAMESPACE {

template <typename T>
HWY_INLINE void rotate_head(T* head, const Wide<T>* cosines, const Wide<T>* sines, Wide<T> sign,
                            int64_t half) {
  using W = Wide<T>;
  const auto signs = hn::Set(Lanes<W>(), sign);
  for_vectors<W>(0, half, [=](int64_t k, auto extent) HWY_ATTR {
    const Vector<W> a = load(head + k, extent);
    const Vector<W> b = load(head + half + k, extent);
    const auto cosine = load(cosines + k, extent);
    const auto sine = hn::Mul(signs, load(sines + k, extent));
    store(hn::NegMulAdd(b, sine, hn::Mul(a, cosine)), head + k, extent);
    store(hn::MulAdd(a, sine, hn::Mul(b, cosine)), head + half + k, extent);
  });
}

template <typename T>
void rotate_rows(Range rows, at::Tensor& heads_TE, const at::Tensor& table_SK, int64_t heads, Wide<T> sign) {
  const int64_t head_dim = table_SK.size(1);
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const Wide<T>* const cosines = table_SK.const_data_ptr<Wide<T>>() + row % table_SK.size(0) * head_dim;
    T* const head = heads_TE.mutable_data_ptr<T>() + row * heads_TE.size(1);
    for (int64_t i = 0; i < heads; ++i)
      rotate_head<T>(head + i * head_dim, cosines, cosines + head_dim / 2, sign, head_dim / 2);
  }
}

}  // namespace caravan::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caravan::kernels {
namespace {

// Long wavelengths are stretched by `factor`, short ones stay, those between are blended (Llama 3.1).
template <typename W>
W scaled_frequency(W frequency, const planner::RopeScaling& scaling) {
  const auto factor = static_cast<W>(scaling.factor);
  const auto low = static_cast<W>(scaling.low_frequency_factor);
  const auto high = static_cast<W>(scaling.high_frequency_factor);
  const auto positions = static_cast<W>(scaling.original_positions);
  const W wavelength = W{2} * std::numbers::pi_v<W> / frequency;
  if (wavelength > positions / low) return frequency / factor;
  if (wavelength < positions / high) return frequency;
  const W smooth = (positions / wavelength - low) / (high - low);
  return (W{1} - smooth) * frequency / factor + smooth * frequency;
}

template <typename W>
void fill_table(at::Tensor& table_SK, const planner::ModelShape& model) {
  const int64_t half = model.head_dim / 2;
  W* const table = table_SK.mutable_data_ptr<W>();
  for (int64_t k = 0; k < half; ++k) {
    const W exponent = static_cast<W>(2 * k) / static_cast<W>(model.head_dim);
    W frequency = W{1} / std::pow(static_cast<W>(model.rope_theta), exponent);
    if (model.rope_scaling) frequency = scaled_frequency<W>(frequency, *model.rope_scaling);
    for (int64_t s = 0; s < table_SK.size(0); ++s) {
      const W angle = static_cast<W>(s) * frequency;
      table[s * model.head_dim + k] = std::cos(angle);
      table[s * model.head_dim + half + k] = std::sin(angle);
    }
  }
}

}  // namespace

at::Tensor rope_table(const planner::ModelShape& model, int64_t sequence_length, at::ScalarType storage) {
  at::Tensor table_SK = at::empty({sequence_length, model.head_dim}, wide_type(storage));
  if (storage == at::kDouble) {
    fill_table<double>(table_SK, model);
  } else {
    fill_table<float>(table_SK, model);
  }
  return table_SK;
}

namespace cpu {

void rope_apply(at::Tensor& heads_TE, const at::Tensor& table_SK, int64_t heads, Rotation rotation) {
  for_storage_type(heads_TE.scalar_type(), [&]<typename T>() {
    const Wide<T> sign = rotation == Rotation::Forward ? 1 : -1;
    const auto of_rows = CARAVAN_CHOOSE(rotate_rows<T>);
    parallel_ranges(heads_TE.size(0), heads * table_SK.size(1),
                    [&](Range rows) { of_rows(rows, heads_TE, table_SK, heads, sign); });
  });
}

}  // namespace cpu
}  // namespace caravan::kernels
#endif
