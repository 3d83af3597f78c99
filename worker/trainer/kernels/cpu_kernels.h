// The table of processors (kernel_table.h), function by function.
#pragma once

#include <ATen/core/Tensor.h>

#include "worker/trainer/kernels/adamw.h"
#include "worker/trainer/kernels/attention.h"
#include "worker/trainer/kernels/rms_norm.h"
#include "worker/trainer/kernels/rope.h"

namespace caravan::kernels::cpu {

void rms_norm(const at::Tensor& x_TD, const at::Tensor& residual_TD, const at::Tensor& w_D, double eps,
              const Normed& normed);
void rms_norm_apply(const at::Tensor& x_TD, const at::Tensor& w_D, const at::Tensor& scale_T,
                    at::Tensor& y_TD);
void rms_norm_backward(at::Tensor& gradient_TD, const at::Tensor& x_TD, const at::Tensor& w_D,
                       const at::Tensor& scale_T, const at::Tensor& residual_TD, at::Tensor& dw_D);

void rope_apply(at::Tensor& heads_TE, const at::Tensor& table_SK, int64_t heads, Rotation rotation);

void swiglu_forward(const at::Tensor& gate_up_T2F, at::Tensor& gated_TF);
void swiglu_backward(at::Tensor& gate_up_T2F, at::Tensor& gradient_TF);

AttentionResult attention_forward(const at::Tensor& qkv_TE, const AttentionHistory& history,
                                  const AttentionShape& shape);
void attention_backward(at::Tensor& qkv_TE, const at::Tensor& doutput_TA, const AttentionResult& result,
                        const at::Tensor& by_later_TC, AttentionHistory& history,
                        const AttentionShape& shape);

void product(const at::Tensor& a, const at::Tensor& b, at::Tensor& result);
void add_weight_gradient(const at::Tensor& dy_TO, const at::Tensor& x_TI, at::Tensor& dw_OI);

void cross_entropy_maxima(const at::Tensor& logits_CV, at::Tensor& statistics_3C);
void cross_entropy_sums(const at::Tensor& logits_CV, const at::Tensor& targets_C, int64_t first_token,
                        at::Tensor& statistics_3C);
void add_cross_entropy_loss(const at::Tensor& targets_C, const at::Tensor& statistics_3C,
                            at::Tensor& loss_sum);
void cross_entropy_gradient(at::Tensor& logits_CV, const at::Tensor& targets_C, int64_t first_token,
                            double scale, const at::Tensor& statistics_3C);

void embedding_forward(const at::Tensor& tokens, const at::Tensor& table_VD, int64_t first_token,
                       at::Tensor& y_TD);
void embedding_backward(const at::Tensor& dy_TD, const at::Tensor& tokens, at::Tensor& dtable_VD,
                        int64_t first_token);

void adamw(const AdamWTensors& tensors, const AdamW& update);
void adamw_values(const AdamWTensors& tensors, const AdamW& update);
void add_sum_of_squares(const at::Tensor& values, at::Tensor& sum);

void fill_normal(at::Tensor& values, uint64_t key, int64_t first_index, double standard_deviation);

uint64_t sum_of_bits(const at::Tensor& flat);

}  // namespace caravan::kernels::cpu
