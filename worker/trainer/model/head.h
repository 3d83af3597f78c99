// The end of the model: final norm, projection to the vocabulary and the loss, a chunk of tokens at a time,
// so that logits never exist for all tokens at once. Gradients are made in the same pass.
#pragma once

#include <ATen/core/Tensor.h>

#include "worker/trainer/model/parameters.h"
#include "worker/trainer/model/tensor_region.h"

namespace caravan::trainer {

struct HeadOutput {
  at::Tensor loss_sum;     // one fp64 number on the device
  at::Tensor gradient_TD;  // by the head's input
};

class Head {
 public:
  // Projects by the table of the embedding where the store has that one and the model ties them.
  // on_gpu: chunks are as the planner cuts them for GPUs.
  Head(const ParameterStore& store, const planner::ModelShape& model, const TensorRegion& region,
       bool on_gpu = false);

  // Adds to the weights' gradients those of loss_scale times the loss.
  HeadOutput forward_and_backward(at::Tensor input_TD, const at::Tensor& targets_T, double loss_scale) const;
  // The loss alone, as HeadOutput has it.
  at::Tensor forward(at::Tensor input_TD, const at::Tensor& targets_T) const;
  // Of this rank's part of the vocabulary, for few tokens: fp32 (fp64 for fp64).
  at::Tensor logits(const at::Tensor& input_TD) const;

 private:
  // What a chunk needs for gradients; its rows of by_normed are written.
  struct Gradients {
    at::Tensor by_normed_TD;
    double loss_scale = 1;
  };

  at::Tensor run_chunks(const at::Tensor& normed_TD, const at::Tensor& targets_T,
                        const Gradients* gradients) const;
  void add_chunk_loss(const at::Tensor& logits_CV, const at::Tensor& targets_C, at::Tensor& statistics_3C,
                      at::Tensor& loss_sum) const;

  const double norm_eps_;
  const TensorRegion& region_;
  ParameterView norm_D;
  ParameterView projection_VD;  // without padding rows
  int64_t first_token_ = 0;     // of this rank's part of the vocabulary
  int64_t chunk_tokens_ = 0;
};

}  // namespace caravan::trainer
