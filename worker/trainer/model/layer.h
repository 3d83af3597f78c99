// One transformer layer of Llama on one tensor parallel rank:
//
//  - middle = x + output(attention(rope(qkv(norm(x)))))
//  - y = middle + down(swiglu(gate_up(norm(middle))))
//
// Forward is cut where its backward's needs end: `run_to_saved` makes everything that is saved, `output` the
// rest. Activation checkpointing drops all of it but the input, or the gates alone, and makes it again. The
// order of calls is the one of the rows in planner/work/layer_rows.cc.
//
// A layer works on whole sequences, or on a segment of each, which attends to the segments before it.
//
// Shapes: T tokens of this rank or all of them, D hidden, F ffn, E = (H + 2G)·K fused heads, A = H·K,
// C = 2·G·K; H, G, F local.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "worker/trainer/kernels/attention.h"
#include "worker/trainer/kernels/rope.h"
#include "worker/trainer/model/parameters.h"
#include "worker/trainer/model/stage.h"
#include "worker/trainer/model/tensor_region.h"

namespace caravan::trainer {

struct LayerSaved {
  at::Tensor input_TD;
  at::Tensor attention_scale_T;  // of the norm before attention
  at::Tensor qkv_TE;             // rotated
  kernels::AttentionResult attention;
  at::Tensor middle_TD;
  at::Tensor mlp_scale_T;
  at::Tensor gate_up_T2F;

  // Activation checkpointing: what that part makes again.
  void drop(planner::RecomputedPart part);
};

class Layer {
 public:
  struct Settings {
    double norm_eps = 1e-5;
    kernels::AttentionShape attention;  // heads of this rank
    at::Tensor rope_table_SK;
  };

  Layer(const ParameterStore& store, int index, Settings settings, const TensorRegion& region);

  int bucket() const { return bucket_; }  // of all its parameters

  // history: of the segments before this one, or empty.
  LayerSaved run_to_saved(at::Tensor input_TD, const kernels::AttentionHistory& history) const;
  at::Tensor output(const LayerSaved& saved) const;
  // For the segments behind: a part of what is saved, not a copy.
  at::Tensor keys_and_values(const LayerSaved& saved) const;
  // Consumes both, and the last entry of the history. With a queue the weight gradients of qkv and gate_up go
  // there, which need no more than forward saved; without one (nullptr) they run at once.
  at::Tensor backward(LayerSaved saved, at::Tensor gradient_TD, kernels::AttentionHistory& history,
                      WeightGradientQueue* queue) const;

 private:
  at::Tensor gate_up(at::Tensor normed_TD) const;
  LayerSaved complete(LayerSaved saved, const kernels::AttentionHistory& history) const;
  void rotate(at::Tensor& qkv_TE, const kernels::AttentionHistory& history, kernels::Rotation rotation) const;
  at::Tensor mlp_backward(LayerSaved& saved, at::Tensor gradient_TD, WeightGradientQueue* queue) const;
  at::Tensor attention_backward(LayerSaved& saved, at::Tensor gradient_TD, at::Tensor by_later_TC,
                                kernels::AttentionHistory& history, WeightGradientQueue* queue) const;

  Settings settings_;
  const TensorRegion& region_;
  int bucket_;
  ParameterView attention_norm_D;
  ParameterView qkv_ED;
  ParameterView output_DA;
  ParameterView mlp_norm_D;
  ParameterView gate_up_2FD;
  ParameterView down_DF;
};

}  // namespace caravan::trainer
