#include "worker/trainer/kernels/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "worker/trainer/kernels/cpu_kernels.h"
#include "worker/trainer/kernels/instruction_set.h"
#include "worker/trainer/kernels/parallel_ranges.h"
#include "worker/trainer/kernels/storage_type.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "worker/trainer/kernels/cross_entropy.cc"
#include "worker/trainer/kernels/each_instruction_set.h"
#include "worker/trainer/kernels/exponential-inl.h"
#include "worker/trainer/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace caravan::kernels::HWY_NAMESPACE {

// Logits that are read twice in a row, from the first-level cache.
constexpr int64_t kBlock = 4096;

template <typename T>
Wide<T> maximum(const T* logits, int64_t count) {
  using W = Wide<T>;
  const Lanes<W> d;
  const W lowest = -std::numeric_limits<W>::infinity();
  auto even = hn::Set(d, lowest), odd = even;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    even = hn::Max(even, load(logits + i, Whole()));
    odd = hn::Max(odd, load(logits + i + lanes, Whole()));
  }
  W result = hn::GetLane(hn::MaxOfLanes(d, hn::Max(even, odd)));
  for (; i < count; ++i) result = std::max(result, static_cast<W>(logits[i]));
  return result;
}

template <typename T>
Wide<T> sum_of_exponentials(const T* logits, int64_t count, Wide<T> less) {
  using W = Wide<T>;
  const auto shift = hn::Set(Lanes<W>(), less);
  const int64_t whole = count - count % static_cast<int64_t>(hn::Lanes(Lanes<W>()));
  W result = sum<W>(whole, [=](int64_t i, auto extent) HWY_ATTR {
    return negative_exponential(hn::Sub(load(logits + i, extent), shift));
  });
  for (int64_t i = whole; i < count; ++i) result += std::exp(static_cast<W>(logits[i]) - less);
  return result;
}

// Maximum and sum in one pass over memory (Milakov and Gimelshein, arXiv 1805.02867), a block at a time.
template <typename T>
void maxima_of_tokens(Range tokens, const at::Tensor& logits_CV, at::Tensor& statistics_3C) {
  using W = Wide<T>;
  const int64_t vocabulary = logits_CV.size(1);
  W* const statistics = statistics_3C.mutable_data_ptr<W>();
  for (int64_t token = tokens.begin; token < tokens.end; ++token) {
    const T* const logits = logits_CV.const_data_ptr<T>() + token * vocabulary;
    W largest = -std::numeric_limits<W>::infinity();
    W sum = 0;
    for (int64_t first = 0; first < vocabulary; first += kBlock) {
      const int64_t count = std::min(kBlock, vocabulary - first);
      const W before = largest;
      largest = std::max(largest, maximum(logits + first, count));
      if (sum != 0) sum *= std::exp(before - largest);
      sum += sum_of_exponentials(logits + first, count, largest);
    }
    statistics[kMaximum * statistics_3C.size(1) + token] = largest;
    statistics[kSum * statistics_3C.size(1) + token] = sum;
  }
}

// probabilities · scale = e^(logit − maximum) · factor
template <typename T>
void scaled_probabilities(T* logits, int64_t count, Wide<T> maximum, Wide<T> factor) {
  using W = Wide<T>;
  const auto shift = hn::Set(Lanes<W>(), maximum);
  const auto factors = hn::Set(Lanes<W>(), factor);
  for_vectors<W>(0, count, [=](int64_t i, auto extent) HWY_ATTR {
    const auto power = negative_exponential(hn::Sub(load(logits + i, extent), shift));
    store(hn::Mul(power, factors), logits + i, extent);
  });
}

template <typename T>
void gradient_of_tokens(Range tokens, at::Tensor& logits_CV, const at::Tensor& targets_C, int64_t first_token,
                        double scale, const at::Tensor& statistics_3C) {
  using W = Wide<T>;
  const int64_t vocabulary = logits_CV.size(1);
  const int64_t chunk = statistics_3C.size(1);
  const W* const statistics = statistics_3C.const_data_ptr<W>();
  for (int64_t token = tokens.begin; token < tokens.end; ++token) {
    T* const logits = logits_CV.mutable_data_ptr<T>() + token * vocabulary;
    const int64_t target = targets_C.const_data_ptr<int64_t>()[token];
    if (target < 0) {
      std::fill_n(logits, vocabulary, T{0});
      continue;
    }
    const W factor = static_cast<W>(scale) / statistics[kSum * chunk + token];
    scaled_probabilities(logits, vocabulary, statistics[kMaximum * chunk + token], factor);
    const int64_t column = target - first_token;
    if (column < 0 || column >= vocabulary) continue;
    const W probability = std::exp(statistics[kTarget * chunk + token]) * factor;
    logits[column] = static_cast<T>(probability - static_cast<W>(scale));
  }
}

}  // namespace caravan::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace caravan::kernels::cpu {

void cross_entropy_maxima(const at::Tensor& logits_CV, at::Tensor& statistics_3C) {
  for_storage_type(logits_CV.scalar_type(), [&]<typename T>() {
    const auto of_tokens = CARAVAN_CHOOSE(maxima_of_tokens<T>);
    parallel_ranges(logits_CV.size(0), logits_CV.size(1),
                    [&](Range tokens) { of_tokens(tokens, logits_CV, statistics_3C); });
  });
  statistics_3C[kTarget].copy_(statistics_3C[kMaximum]);  // until the sums: the rank's own maximum
}

void cross_entropy_sums(const at::Tensor& logits_CV, const at::Tensor& targets_C, int64_t first_token,
                        at::Tensor& statistics_3C) {
  for_storage_type(logits_CV.scalar_type(), [&]<typename T>() {
    using W = Wide<T>;
    const int64_t vocabulary = logits_CV.size(1);
    const T* const logits = logits_CV.const_data_ptr<T>();
    const W* const maximum = statistics_3C[kMaximum].const_data_ptr<W>();
    W* const sum = statistics_3C[kSum].mutable_data_ptr<W>();
    W* const target = statistics_3C[kTarget].mutable_data_ptr<W>();
    for (int64_t token = 0; token < targets_C.numel(); ++token) {
      if (vocabulary > 0) sum[token] *= std::exp(target[token] - maximum[token]);
      const int64_t id = targets_C.const_data_ptr<int64_t>()[token];
      const int64_t column = id - first_token;
      const bool is_here = id >= 0 && column >= 0 && column < vocabulary;
      target[token] = is_here ? static_cast<W>(logits[token * vocabulary + column]) - maximum[token] : W{0};
    }
  });
}

void add_cross_entropy_loss(const at::Tensor& targets_C, const at::Tensor& statistics_3C,
                            at::Tensor& loss_sum) {
  double loss = 0;
  for_wide_type(statistics_3C.scalar_type(), [&]<typename W>() {
    const int64_t* const targets = targets_C.const_data_ptr<int64_t>();
    const int64_t tokens = targets_C.numel();
    const W* const statistics = statistics_3C.const_data_ptr<W>();
    for (int64_t token = 0; token < tokens; ++token)
      if (targets[token] >= 0)
        loss += std::log(static_cast<double>(statistics[kSum * tokens + token])) -
                static_cast<double>(statistics[kTarget * tokens + token]);
  });
  *loss_sum.mutable_data_ptr<double>() += loss;
}

void cross_entropy_gradient(at::Tensor& logits_CV, const at::Tensor& targets_C, int64_t first_token,
                            double scale, const at::Tensor& statistics_3C) {
  for_storage_type(logits_CV.scalar_type(), [&]<typename T>() {
    const auto of_tokens = CARAVAN_CHOOSE(gradient_of_tokens<T>);
    parallel_ranges(logits_CV.size(0), logits_CV.size(1), [&](Range tokens) {
      of_tokens(tokens, logits_CV, targets_C, first_token, scale, statistics_3C);
    });
  });
}

}  // namespace caravan::kernels::cpu
#endif
