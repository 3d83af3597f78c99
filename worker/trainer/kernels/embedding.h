// Lookup of token embeddings in a table whose rows are cut over the tensor group.
//
// table_VD holds the rows of tokens first_token ... first_token + V - 1. Other tokens give zeros, so that the
// sum over the group is the whole lookup. No temporary memory; tokens are int64.
#pragma once

#include <ATen/core/Tensor.h>

namespace caravan::kernels {

at::Tensor embedding_forward(const at::Tensor& tokens, const at::Tensor& table_VD, int64_t first_token);

// dtable_VD (fp32, or fp64 for fp64) += the rows of dy_TD, in the order of the tokens.
void embedding_backward(const at::Tensor& dy_TD, const at::Tensor& tokens, at::Tensor& dtable_VD,
                        int64_t first_token);

}  // namespace caravan::kernels
