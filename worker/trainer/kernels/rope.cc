#include "worker/trainer/kernels/rope.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <cmath>
#include <numbers>

#include "worker/trainer/kernels/storage_type.h"

namespace caravan::kernels {
namespace {

constexpr int64_t kRowsPerTask = 16;

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

template <typename T>
void rotate_head(T* head, const Wide<T>* cosines, const Wide<T>* sines, Wide<T> sign, int64_t half) {
  using W = Wide<T>;
  for (int64_t k = 0; k < half; ++k) {
    const W a = static_cast<W>(head[k]);
    const W b = static_cast<W>(head[k + half]);
    const W sine = sign * sines[k];
    head[k] = static_cast<T>(a * cosines[k] - b * sine);
    head[k + half] = static_cast<T>(b * cosines[k] + a * sine);
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

void rope_apply(at::Tensor& heads_TE, const at::Tensor& table_SK, int64_t heads, Rotation rotation) {
  const int64_t sequence_length = table_SK.size(0);
  const int64_t head_dim = table_SK.size(1);
  const int64_t row_size = heads_TE.size(1);
  for_storage_type(heads_TE.scalar_type(), [&]<typename T>() {
    using W = Wide<T>;
    const W sign = rotation == Rotation::Forward ? W{1} : W{-1};
    T* const rows = heads_TE.mutable_data_ptr<T>();
    const W* const table = table_SK.const_data_ptr<W>();
    at::parallel_for(0, heads_TE.size(0), kRowsPerTask, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const W* const cosines = table + row % sequence_length * head_dim;
        for (int64_t head = 0; head < heads; ++head)
          rotate_head<T>(rows + row * row_size + head * head_dim, cosines, cosines + head_dim / 2, sign,
                         head_dim / 2);
      }
    });
  });
}

}  // namespace caravan::kernels
