#include <cmath>

#include "worker/trainer/kernels/cpu_kernels.h"
#include "worker/trainer/kernels/instruction_set.h"
#include "worker/trainer/kernels/parallel_ranges.h"
#include "worker/trainer/kernels/storage_type.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "worker/trainer/kernels/adamw.cc"
#include "worker/trainer/kernels/each_instruction_set.h"
#include "worker/trainer/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace caravan::kernels::HWY_NAMESPACE {

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

template <typename T>
void update_elements(Range elements, const AdamWTensors& tensors, const AdamW& update) {
  using W = Wide<T>;
  const Step<W> step(update);
  W* const weights = tensors.weights.mutable_data_ptr<W>();
  W* const gradients = tensors.gradients.mutable_data_ptr<W>();
  W* const first = tensors.first_moment.mutable_data_ptr<W>();
  W* const second = tensors.second_moment.mutable_data_ptr<W>();
  T* const values = tensors.values.mutable_data_ptr<T>();
  for_vectors<W>(elements.begin, elements.end, [=](int64_t i, auto extent) HWY_ATTR {
    const Updated<W> now = step(load(weights + i, extent), load(gradients + i, extent),
                                load(first + i, extent), load(second + i, extent));
    store(now.weight, weights + i, extent);
    store(now.first, first + i, extent);
    store(now.second, second + i, extent);
    store(now.weight, values + i, extent);
    store(hn::Zero(Lanes<W>()), gradients + i, extent);
  });
}

template <typename T>
void update_values(Range elements, const AdamWTensors& tensors, const AdamW& update) {
  using W = Wide<T>;
  const Step<W> step(update);
  const W* const weights = tensors.weights.const_data_ptr<W>();
  const W* const gradients = tensors.gradients.const_data_ptr<W>();
  const W* const first = tensors.first_moment.const_data_ptr<W>();
  const W* const second = tensors.second_moment.const_data_ptr<W>();
  T* const values = tensors.values.mutable_data_ptr<T>();
  for_vectors<W>(elements.begin, elements.end, [=](int64_t i, auto extent) HWY_ATTR {
    const Updated<W> now = step(load(weights + i, extent), load(gradients + i, extent),
                                load(first + i, extent), load(second + i, extent));
    store(now.weight, values + i, extent);
  });
}

}  // namespace caravan::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caravan::kernels::cpu {

void adamw(const AdamWTensors& tensors, const AdamW& update) {
  for_storage_type(tensors.values.scalar_type(), [&]<typename T>() {
    const auto of_elements = CARAVAN_CHOOSE(update_elements<T>);
    parallel_ranges(tensors.weights.numel(), 1,
                    [&](Range elements) { of_elements(elements, tensors, update); });
  });
}

void adamw_values(const AdamWTensors& tensors, const AdamW& update) {
  for_storage_type(tensors.values.scalar_type(), [&]<typename T>() {
    const auto of_elements = CARAVAN_CHOOSE(update_values<T>);
    parallel_ranges(tensors.weights.numel(), 1,
                    [&](Range elements) { of_elements(elements, tensors, update); });
  });
}

}  // namespace caravan::kernels::cpu
#endif
