#include <cmath>

#include "worker/trainer/kernels/cpu_kernels.h"
#include "worker/trainer/kernels/instruction_set.h"
#include "worker/trainer/kernels/parallel_ranges.h"
#include "worker/trainer/kernels/storage_type.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "worker/trainer/kernels/adamw.cc"
#include "worker/trainer/kernels/each_instruction_set.h"
#include "worker/trainer/kernels/rounding_noise-inl.h"
#include "worker/trainer/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace caravan::kernels::HWY_NAMESPACE {

// Up or down to a bf16, up as often as the value is near it: 16 random bits are added to those that are cut
// off. No number, and infinity, stay what they are.
template <typename Extent>
HWY_INLINE void store_rounded_at_random(Vector<float> values, c10::BFloat16* to, Extent extent,
                                        hn::Vec<Words> noise) {
  const auto bits = hn::Add(hn::BitCast(Words(), values), noise);
  const auto rounded = hn::BitCast(Lanes<float>(), hn::And(bits, hn::Set(Words(), 0xFFFF0000)));
  store(hn::IfThenElse(hn::IsFinite(values), rounded, values), to, extent);
}

template <typename W>
struct Updated {
  Vector<W> weight, first, second;
};

// Algorithm 2 of the paper, with the corrections of both biases in the factors.
template <typename W>
class Step {
 public:
  explicit HWY_INLINE Step(const AdamW& update)
      : gradient_scale_(all(update.gradient_scale)),
        beta1_(all(update.beta1)),
        one_less_beta1_(all(1 - update.beta1)),
        beta2_(all(update.beta2)),
        one_less_beta2_(all(1 - update.beta2)),
        decay_(all(1 - update.learning_rate * update.weight_decay)),
        rate_(all(update.learning_rate / bias_left(update.beta1, update.step))),
        second_scale_(all(1 / std::sqrt(bias_left(update.beta2, update.step)))),
        epsilon_(all(update.epsilon)) {}

  HWY_INLINE Updated<W> operator()(Vector<W> weight, Vector<W> gradient, Vector<W> first,
                                   Vector<W> second) const {
    const auto g = hn::Mul(gradient, gradient_scale_);
    first = hn::MulAdd(first, beta1_, hn::Mul(g, one_less_beta1_));
    second = hn::MulAdd(second, beta2_, hn::Mul(hn::Mul(g, g), one_less_beta2_));
    const auto size = hn::MulAdd(hn::Sqrt(second), second_scale_, epsilon_);
    weight = hn::NegMulAdd(rate_, hn::Div(first, size), hn::Mul(weight, decay_));
    return {.weight = weight, .first = first, .second = second};
  }

 private:
  static HWY_INLINE Vector<W> all(double value) { return hn::Set(Lanes<W>(), static_cast<W>(value)); }
  static double bias_left(double beta, int64_t step) { return 1 - std::pow(beta, static_cast<double>(step)); }

  const Vector<W> gradient_scale_, beta1_, one_less_beta1_, beta2_, one_less_beta2_, decay_, rate_,
      second_scale_, epsilon_;
};

// The moments that an update leaves, as they are stored.
template <typename M>
class Moments {
 public:
  explicit Moments(const AdamWTensors& tensors, const AdamW& update)
      : first_(tensors.first_moment.mutable_data_ptr<M>()),
        second_(tensors.second_moment.mutable_data_ptr<M>()),
        noise_(update) {}

  template <typename Extent>
  HWY_INLINE auto first(int64_t i, Extent extent) const {
    return load(first_ + i, extent);
  }
  template <typename Extent>
  HWY_INLINE auto second(int64_t i, Extent extent) const {
    return load(second_ + i, extent);
  }

  template <typename W, typename Extent>
  HWY_INLINE void set(const Updated<W>& now, int64_t i, Extent extent) {
    if constexpr (std::is_same_v<M, W>) {
      store(now.first, first_ + i, extent);
      store(now.second, second_ + i, extent);
    } else {
      const auto noise = noise_(i);
      store_rounded_at_random(now.first, first_ + i, extent, hn::And(noise, hn::Set(Words(), 0xFFFF)));
      store_rounded_at_random(now.second, second_ + i, extent, hn::ShiftRight<16>(noise));
    }
  }

 private:
  M* const first_;
  M* const second_;
  RoundingNoise noise_;
};

template <typename Types>
void update_elements(Range elements, const AdamWTensors& tensors, const AdamW& update) {
  using T = typename Types::Value;
  using W = Wide<T>;
  const Step<W> step(update);
  Moments<typename Types::Moment> moments(tensors, update);
  W* const weights = tensors.weights.mutable_data_ptr<W>();
  W* const gradients = tensors.gradients.mutable_data_ptr<W>();
  T* const values = tensors.values.mutable_data_ptr<T>();
  for_vectors<W>(elements.begin, elements.end, [=, &moments](int64_t i, auto extent) HWY_ATTR {
    const Updated<W> now = step(load(weights + i, extent), load(gradients + i, extent),
                                moments.first(i, extent), moments.second(i, extent));
    store(now.weight, weights + i, extent);
    moments.set(now, i, extent);
    store(now.weight, values + i, extent);
    store(hn::Zero(Lanes<W>()), gradients + i, extent);
  });
}

template <typename Types>
void update_values(Range elements, const AdamWTensors& tensors, const AdamW& update) {
  using T = typename Types::Value;
  using W = Wide<T>;
  const Step<W> step(update);
  const Moments<typename Types::Moment> moments(tensors, update);
  const W* const weights = tensors.weights.const_data_ptr<W>();
  const W* const gradients = tensors.gradients.const_data_ptr<W>();
  T* const values = tensors.values.mutable_data_ptr<T>();
  for_vectors<W>(elements.begin, elements.end, [=, &moments](int64_t i, auto extent) HWY_ATTR {
    const Updated<W> now = step(load(weights + i, extent), load(gradients + i, extent),
                                moments.first(i, extent), moments.second(i, extent));
    store(now.weight, values + i, extent);
  });
}

}  // namespace caravan::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caravan::kernels::cpu {
namespace {

// How values and moments are stored.
template <typename T, typename M>
struct Elements {
  using Value = T;
  using Moment = M;
};

// Calls body.operator()<Elements<values, moments>>().
template <typename Body>
void for_element_types(const AdamWTensors& tensors, Body&& body) {
  for_storage_type(tensors.values.scalar_type(), [&]<typename T>() {
    using W = Wide<T>;
    const c10::ScalarType moments = tensors.first_moment.scalar_type();
    if (moments == c10::CppTypeToScalarType<W>::value) return body.template operator()<Elements<T, W>>();
    if constexpr (std::is_same_v<W, float>) {
      if (moments == c10::kBFloat16) return body.template operator()<Elements<T, c10::BFloat16>>();
    }
    TORCH_CHECK(false, "moments of ", c10::toString(tensors.values.scalar_type()), " values are not ",
                c10::toString(moments));
  });
}

}  // namespace

void adamw(const AdamWTensors& tensors, const AdamW& update) {
  for_element_types(tensors, [&]<typename Types>() {
    const auto of_elements = CARAVAN_CHOOSE(update_elements<Types>);
    parallel_ranges(tensors.weights.numel(), 1,
                    [&](Range elements) { of_elements(elements, tensors, update); });
  });
}

void adamw_values(const AdamWTensors& tensors, const AdamW& update) {
  for_element_types(tensors, [&]<typename Types>() {
    const auto of_elements = CARAVAN_CHOOSE(update_values<Types>);
    parallel_ranges(tensors.weights.numel(), 1,
                    [&](Range elements) { of_elements(elements, tensors, update); });
  });
}

}  // namespace caravan::kernels::cpu
#endif
