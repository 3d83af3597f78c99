#include "worker/trainer/kernels/attention_history.h"

#include <ATen/ops/zeros.h>

#include <utility>

#include "worker/trainer/kernels/storage_type.h"

namespace caravan::kernels {

int64_t AttentionHistory::rows() const {
  int64_t rows = 0;
  for (const at::Tensor& kv : kv_TC) rows += kv.size(0);
  return rows;
}

void AttentionHistory::add(at::Tensor segment_kv_TC) {
  kv_TC.push_back(std::move(segment_kv_TC));
}

at::Tensor AttentionHistory::begin_backward() {
  if (kv_gradients_TC.empty()) return {};
  kv_TC.pop_back();
  at::Tensor by_later_TC = std::move(kv_gradients_TC.back());
  kv_gradients_TC.pop_back();
  return by_later_TC;
}

void AttentionHistory::make_gradients() {
  for (const at::Tensor& kv : kv_TC)
    kv_gradients_TC.push_back(at::zeros(kv.sizes(), kv.options().dtype(wide_type(kv.scalar_type()))));
}

}  // namespace caravan::kernels
