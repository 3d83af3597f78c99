#include "worker/trainer/model/head.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <utility>

#include "planner/work/constants.h"
#include "worker/trainer/kernels/cross_entropy.h"
#include "worker/trainer/kernels/host_copy.h"
#include "worker/trainer/kernels/linear.h"
#include "worker/trainer/kernels/rms_norm.h"
#include "worker/trainer/kernels/storage_type.h"
#include "worker/trainer/memory/ledger.h"

namespace caravan::trainer {
namespace {

ParameterView without_padding(ParameterView table, int64_t rows) {
  const auto real = [rows](const at::Tensor& all) { return all.defined() ? all.narrow(0, 0, rows) : all; };
  return {.value = real(table.value), .gradient = real(table.gradient)};
}

}  // namespace

Head::Head(const ParameterStore& store, const planner::ModelShape& model, const TensorRegion& region,
           bool on_gpu)
    : norm_eps_(model.norm_eps), region_(region), norm_D(store.view("final_norm")) {
  const bool shares_table = model.tied_embeddings && store.layout.has("embedding");
  const Parameter& table = store.layout.find(shares_table ? "embedding" : "head");
  const ParameterPart& part = table.parts[0];
  projection_VD = without_padding(store.view(table.name), part.shard_real);
  first_token_ = part.shard_begin;
  chunk_tokens_ = planner::logits_chunk_tokens(part.shard_size, on_gpu);
}

HeadOutput Head::forward_and_backward(at::Tensor input_TD, const at::Tensor& targets_T,
                                      double loss_scale) const {
  kernels::Normed normed = kernels::rms_norm(input_TD, norm_D.value, norm_eps_);
  at::Tensor normed_TD = region_.enter(std::move(normed.y_TD));
  Gradients gradients{.by_normed_TD = at::empty_like(normed_TD), .loss_scale = loss_scale};
  at::Tensor loss_sum = run_chunks(normed_TD, targets_T, &gradients);
  normed_TD.reset();
  at::Tensor gradient_TD = region_.leave(std::move(gradients.by_normed_TD));
  at::Tensor norm_gradient = norm_D.gradient;
  kernels::rms_norm_backward(gradient_TD, input_TD, norm_D.value, normed.scale_T, /*residual_TD=*/{},
                             norm_gradient);
  return {.loss_sum = std::move(loss_sum), .gradient_TD = std::move(gradient_TD)};
}

at::Tensor Head::forward(at::Tensor input_TD, const at::Tensor& targets_T) const {
  kernels::Normed normed = kernels::rms_norm(input_TD, norm_D.value, norm_eps_);
  return run_chunks(region_.enter(std::move(normed.y_TD)), targets_T, nullptr);
}

at::Tensor Head::logits(const at::Tensor& input_TD) const {
  const at::Tensor normed_TD = region_.enter(kernels::rms_norm(input_TD, norm_D.value, norm_eps_).y_TD);
  return kernels::linear_forward(normed_TD, projection_VD.value)
      .to(kernels::wide_type(normed_TD.scalar_type()));
}

at::Tensor Head::run_chunks(const at::Tensor& normed_TD, const at::Tensor& targets_T,
                            const Gradients* gradients) const {
  const int64_t tokens = normed_TD.size(0);
  const at::TensorOptions wide = normed_TD.options().dtype(kernels::wide_type(normed_TD.scalar_type()));
  const ChargeAs charge(MemoryUse::Logits);
  at::Tensor loss_sum = kernels::zero_where(normed_TD);
  const at::Tensor targets_there_T = targets_T.to(normed_TD.device(), at::kLong, /*non_blocking=*/true);
  for (int64_t first = 0; first < tokens; first += chunk_tokens_) {
    const int64_t count = std::min(chunk_tokens_, tokens - first);
    const at::Tensor normed_CD = normed_TD.narrow(0, first, count);
    const at::Tensor targets_C = targets_there_T.narrow(0, first, count);
    at::Tensor statistics_3C = at::empty({kernels::kStatistics, count}, wide);
    at::Tensor logits_CV = kernels::linear_forward(normed_CD, projection_VD.value);
    add_chunk_loss(logits_CV, targets_C, statistics_3C, loss_sum);
    if (gradients == nullptr) continue;
    kernels::cross_entropy_gradient(logits_CV, targets_C, first_token_, gradients->loss_scale, statistics_3C);
    at::Tensor gradient_CD = gradients->by_normed_TD.narrow(0, first, count);
    kernels::linear_backward_input_into(gradient_CD, logits_CV, projection_VD.value);
    at::Tensor projection_gradient = projection_VD.gradient;
    kernels::linear_backward_weight(logits_CV, normed_CD, projection_gradient);
  }
  return loss_sum;
}

void Head::add_chunk_loss(const at::Tensor& logits_CV, const at::Tensor& targets_C, at::Tensor& statistics_3C,
                          at::Tensor& loss_sum) const {
  at::Tensor maxima = statistics_3C.narrow(0, kernels::kMaximum, 1);
  at::Tensor sums = statistics_3C.narrow(0, kernels::kSum, 2);
  kernels::cross_entropy_maxima(logits_CV, statistics_3C);
  region_.group().all_reduce(maxima, Reduction::Max);
  kernels::cross_entropy_sums(logits_CV, targets_C, first_token_, statistics_3C);
  region_.group().all_reduce(sums, Reduction::Sum);
  kernels::add_cross_entropy_loss(targets_C, statistics_3C, loss_sum);
}

}  // namespace caravan::trainer
