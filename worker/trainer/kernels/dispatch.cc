// The functions that the trainer calls: what is the same for all devices, around the kernel of the one on
// which the tensors lie.
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "worker/trainer/kernels/adamw.h"
#include "worker/trainer/kernels/attention.h"
#include "worker/trainer/kernels/cross_entropy.h"
#include "worker/trainer/kernels/embedding.h"
#include "worker/trainer/kernels/kernel_table.h"
#include "worker/trainer/kernels/linear.h"
#include "worker/trainer/kernels/product_listener.h"
#include "worker/trainer/kernels/random_normal.h"
#include "worker/trainer/kernels/rms_norm.h"
#include "worker/trainer/kernels/rope.h"
#include "worker/trainer/kernels/storage_type.h"
#include "worker/trainer/kernels/sum_of_bits.h"
#include "worker/trainer/kernels/sum_of_squares.h"
#include "worker/trainer/kernels/swiglu.h"
#include "worker/trainer/memory/ledger.h"
#include "worker/trainer/trace/span.h"

namespace caravan::kernels {
namespace {

using trainer::ChargeAs;
using trainer::KernelSpan;
using trainer::MemoryUse;
using trainer::SpanKind;
using trainer::TraceSpan;

at::TensorOptions wide_options(const at::Tensor& like) {
  return like.options().dtype(wide_type(like.scalar_type()));
}

at::Tensor empty_workspace(const at::Tensor& like) {
  const ChargeAs charge(MemoryUse::Workspace);
  return at::empty_like(like);
}

// residual_TD: added to x, or undefined.
Normed norm(const at::Tensor& x_TD, const at::Tensor& residual_TD, const at::Tensor& w_D, double eps) {
  const KernelSpan span("rms_norm");
  Normed normed{.scale_T = at::empty({x_TD.size(0)}, wide_options(x_TD)), .y_TD = empty_workspace(x_TD)};
  kernels_of(x_TD).rms_norm(x_TD, residual_TD, w_D, eps, normed);
  return normed;
}

void multiply_into(at::Tensor& result, const at::Tensor& a, const at::Tensor& b) {
  const trainer::LibraryScratch scratch;
  kernels_of(result).product(a, b, result);
}

at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor result = at::empty({a.size(0), b.size(1)}, a.options());
  multiply_into(result, a, b);
  return result;
}

}  // namespace

Normed rms_norm(const at::Tensor& x_TD, const at::Tensor& w_D, double eps) {
  return norm(x_TD, /*residual_TD=*/{}, w_D, eps);
}

Normed add_rms_norm(at::Tensor& x_TD, const at::Tensor& residual_TD, const at::Tensor& w_D, double eps) {
  return norm(x_TD, residual_TD, w_D, eps);
}

at::Tensor rms_norm_apply(const at::Tensor& x_TD, const at::Tensor& w_D, const at::Tensor& scale_T) {
  const KernelSpan span("rms_norm_apply");
  at::Tensor y_TD = empty_workspace(x_TD);
  kernels_of(x_TD).rms_norm_apply(x_TD, w_D, scale_T, y_TD);
  return y_TD;
}

void rms_norm_backward(at::Tensor& gradient_TD, const at::Tensor& x_TD, const at::Tensor& w_D,
                       const at::Tensor& scale_T, const at::Tensor& residual_TD, at::Tensor& dw_D) {
  const KernelSpan span("rms_norm_backward");
  const ChargeAs charge(MemoryUse::Workspace);
  kernels_of(x_TD).rms_norm_backward(gradient_TD, x_TD, w_D, scale_T, residual_TD, dw_D);
}

void rope_apply(at::Tensor& heads_TE, const at::Tensor& table_SK, int64_t heads, Rotation rotation) {
  const KernelSpan span("rope");
  kernels_of(heads_TE).rope_apply(heads_TE, table_SK, heads, rotation);
}

at::Tensor swiglu_forward(const at::Tensor& gate_up_T2F) {
  const KernelSpan span("swiglu");
  const ChargeAs charge(MemoryUse::Workspace);
  at::Tensor gated_TF = at::empty({gate_up_T2F.size(0), gate_up_T2F.size(1) / 2}, gate_up_T2F.options());
  kernels_of(gate_up_T2F).swiglu_forward(gate_up_T2F, gated_TF);
  return gated_TF;
}

void swiglu_backward(at::Tensor& gate_up_T2F, at::Tensor& gradient_TF) {
  const KernelSpan span("swiglu_backward");
  kernels_of(gate_up_T2F).swiglu_backward(gate_up_T2F, gradient_TF);
}

at::Tensor keys_and_values(const at::Tensor& qkv_TE, const AttentionShape& shape) {
  return qkv_TE.narrow(1, shape.heads * shape.head_dim, 2 * shape.kv_heads * shape.head_dim);
}

AttentionResult attention_forward(const at::Tensor& qkv_TE, const AttentionHistory& history,
                                  const AttentionShape& shape) {
  const TraceSpan span(SpanKind::Attention, "attention");
  return kernels_of(qkv_TE).attention_forward(qkv_TE, history, shape);
}

void attention_backward(at::Tensor& qkv_TE, const at::Tensor& doutput_TA, const AttentionResult& result,
                        const at::Tensor& by_later_TC, AttentionHistory& history,
                        const AttentionShape& shape) {
  const TraceSpan span(SpanKind::Attention, "attention_backward");
  const ChargeAs charge(MemoryUse::Workspace);
  kernels_of(qkv_TE).attention_backward(qkv_TE, doutput_TA, result, by_later_TC, history, shape);
}

at::Tensor linear_forward(const at::Tensor& x_TI, const at::Tensor& w_OI) {
  const TraceSpan span(SpanKind::Product, "linear");
  tell_product(x_TI.size(0), w_OI.size(0), w_OI.size(1));
  return product(x_TI, w_OI.t());
}

at::Tensor linear_backward_input(const at::Tensor& dy_TO, const at::Tensor& w_OI) {
  const TraceSpan span(SpanKind::Product, "linear_backward_input");
  tell_product(dy_TO.size(0), w_OI.size(0), w_OI.size(1));
  return product(dy_TO, w_OI);
}

void linear_backward_input_into(at::Tensor& dx_TI, const at::Tensor& dy_TO, const at::Tensor& w_OI) {
  const TraceSpan span(SpanKind::Product, "linear_backward_input");
  tell_product(dy_TO.size(0), w_OI.size(0), w_OI.size(1));
  multiply_into(dx_TI, dy_TO, w_OI);
}

void linear_backward_weight(const at::Tensor& dy_TO, const at::Tensor& x_TI, at::Tensor& dw_OI) {
  const TraceSpan span(SpanKind::Product, "linear_backward_weight");
  tell_product(x_TI.size(0), dw_OI.size(0), dw_OI.size(1));
  const trainer::LibraryScratch scratch;
  kernels_of(dw_OI).add_weight_gradient(dy_TO, x_TI, dw_OI);
}

void cross_entropy_maxima(const at::Tensor& logits_CV, at::Tensor& statistics_3C) {
  const KernelSpan span("cross_entropy_maxima");
  kernels_of(logits_CV).cross_entropy_maxima(logits_CV, statistics_3C);
}

void cross_entropy_sums(const at::Tensor& logits_CV, const at::Tensor& targets_C, int64_t first_token,
                        at::Tensor& statistics_3C) {
  const KernelSpan span("cross_entropy_sums");
  kernels_of(logits_CV).cross_entropy_sums(logits_CV, targets_C, first_token, statistics_3C);
}

void add_cross_entropy_loss(const at::Tensor& targets_C, const at::Tensor& statistics_3C,
                            at::Tensor& loss_sum) {
  const KernelSpan span("cross_entropy_loss");
  kernels_of(statistics_3C).add_cross_entropy_loss(targets_C, statistics_3C, loss_sum);
}

void cross_entropy_gradient(at::Tensor& logits_CV, const at::Tensor& targets_C, int64_t first_token,
                            double scale, const at::Tensor& statistics_3C) {
  const KernelSpan span("cross_entropy_gradient");
  kernels_of(logits_CV).cross_entropy_gradient(logits_CV, targets_C, first_token, scale, statistics_3C);
}

at::Tensor embedding_forward(const at::Tensor& tokens, const at::Tensor& table_VD, int64_t first_token) {
  const KernelSpan span("embedding");
  at::Tensor y_TD = at::empty({tokens.numel(), table_VD.size(1)}, table_VD.options());
  kernels_of(table_VD).embedding_forward(tokens, table_VD, first_token, y_TD);
  return y_TD;
}

void embedding_backward(const at::Tensor& dy_TD, const at::Tensor& tokens, at::Tensor& dtable_VD,
                        int64_t first_token) {
  const KernelSpan span("embedding_backward");
  const ChargeAs charge(MemoryUse::Workspace);
  kernels_of(dtable_VD).embedding_backward(dy_TD, tokens, dtable_VD, first_token);
}

void adamw(const AdamWTensors& tensors, const AdamW& update) {
  const KernelSpan span("adamw");
  kernels_of(tensors.weights).adamw(tensors, update);
}

void adamw_values(const AdamWTensors& tensors, const AdamW& update) {
  const KernelSpan span("adamw_values");
  kernels_of(tensors.weights).adamw_values(tensors, update);
}

void add_sum_of_squares(const at::Tensor& values, at::Tensor& sum) {
  const KernelSpan span("sum_of_squares");
  const trainer::LibraryScratch scratch;  // some kilobytes of partial sums
  kernels_of(values).add_sum_of_squares(values, sum);
}

void fill_normal(at::Tensor& values, uint64_t key, int64_t first_index, double standard_deviation) {
  kernels_of(values).fill_normal(values, key, first_index, standard_deviation);
}

uint64_t sum_of_bits(const at::Tensor& flat) {
  return kernels_of(flat).sum_of_bits(flat);
}

}  // namespace caravan::kernels
