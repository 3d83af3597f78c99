// Llama in plain tensor operations with autograd: the oracle for the hand-written forward and backward.
//
// Written after the paper and Hugging Face's LlamaForCausalLM, sharing no code with the trainer. Weights are
// found by their Hugging Face names and take part in autograd if they require gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "planner/model/shape.h"

namespace caravan::numerics {

using NamedTensors = std::map<std::string, at::Tensor>;

// fp64, small enough that gradients keep their size, the same for every call; they require gradients.
NamedTensors random_weights(const planner::ModelShape& model, uint64_t seed);

// Sum of token losses; targets below 0 do not count.
at::Tensor reference_loss(const planner::ModelShape& model, const NamedTensors& weights,
                          const at::Tensor& inputs_BS, const at::Tensor& targets_BS);

}  // namespace caravan::numerics
