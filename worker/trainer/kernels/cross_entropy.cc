#include "worker/trainer/kernels/cross_entropy.h"

#include <ATen/ops/amax.h>
#include <ATen/ops/sum.h>

#include <cmath>
#include <limits>

#include "worker/trainer/kernels/storage_type.h"

namespace caravan::kernels {
namespace {

// Calls visit(token, column) for every token whose target is in this rank's part of the vocabulary.
template <typename Visit>
void for_local_targets(const at::Tensor& targets_C, int64_t first_token, int64_t vocabulary, Visit visit) {
  const int64_t* const targets = targets_C.const_data_ptr<int64_t>();
  for (int64_t token = 0; token < targets_C.numel(); ++token) {
    const int64_t column = targets[token] - first_token;
    if (targets[token] >= 0 && column >= 0 && column < vocabulary) visit(token, column);
  }
}

}  // namespace

void cross_entropy_maxima(const at::Tensor& logits_CV, at::Tensor& statistics_3C) {
  at::Tensor maximum = statistics_3C[kMaximum];
  if (logits_CV.size(1) == 0) {
    maximum.fill_(-std::numeric_limits<double>::infinity());
  } else {
    at::amax_out(maximum, logits_CV, 1);
  }
}

void cross_entropy_sums(at::Tensor& logits_CV, const at::Tensor& targets_C, int64_t first_token,
                        at::Tensor& statistics_3C) {
  at::Tensor sum = statistics_3C[kSum];
  at::Tensor target = statistics_3C[kTarget];
  logits_CV.sub_(statistics_3C[kMaximum].unsqueeze(1));
  target.zero_();
  for_wide_type(logits_CV.scalar_type(), [&]<typename T>() {
    const T* const shifted = logits_CV.const_data_ptr<T>();
    T* const values = target.mutable_data_ptr<T>();
    const int64_t vocabulary = logits_CV.size(1);
    for_local_targets(targets_C, first_token, vocabulary, [&](int64_t token, int64_t column) {
      values[token] = shifted[token * vocabulary + column];
    });
  });
  logits_CV.exp_();
  at::sum_out(sum, logits_CV, 1);
}

double cross_entropy_loss(const at::Tensor& targets_C, const at::Tensor& statistics_3C) {
  double loss = 0;
  for_wide_type(statistics_3C.scalar_type(), [&]<typename T>() {
    const int64_t* const targets = targets_C.const_data_ptr<int64_t>();
    const int64_t tokens = targets_C.numel();
    const T* const statistics = statistics_3C.const_data_ptr<T>();
    for (int64_t token = 0; token < tokens; ++token)
      if (targets[token] >= 0)
        loss += std::log(static_cast<double>(statistics[kSum * tokens + token])) -
                static_cast<double>(statistics[kTarget * tokens + token]);
  });
  return loss;
}

void cross_entropy_gradient(at::Tensor& exponentials_CV, const at::Tensor& targets_C, int64_t first_token,
                            double scale, at::Tensor& statistics_3C) {
  for_wide_type(exponentials_CV.scalar_type(), [&]<typename T>() {
    const int64_t* const targets = targets_C.const_data_ptr<int64_t>();
    T* const sum = statistics_3C[kSum].mutable_data_ptr<T>();
    for (int64_t token = 0; token < targets_C.numel(); ++token)
      sum[token] = targets[token] >= 0 ? static_cast<T>(scale) / sum[token] : T{0};
    exponentials_CV.mul_(statistics_3C[kSum].unsqueeze(1));
    T* const gradient = exponentials_CV.mutable_data_ptr<T>();
    const int64_t vocabulary = exponentials_CV.size(1);
    for_local_targets(targets_C, first_token, vocabulary, [&](int64_t token, int64_t column) {
      gradient[token * vocabulary + column] -= static_cast<T>(scale);
    });
  });
}

}  // namespace caravan::kernels
