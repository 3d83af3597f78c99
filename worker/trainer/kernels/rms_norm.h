// Root-mean-square normalisation, forward and backward (Zhang and Sennrich, arXiv 1910.07467), with the
// addition to the residual that comes before it.
//
//   y = x · scale · w,   scale = 1 / sqrt(mean(x²) + eps), over the last dimension, statistics in fp32.
//
// Shapes: x_TD, y_TD of the storage type; w_D the same type; scale_T fp32 (fp64 for fp64). T tokens of this
// rank, D hidden size. All contiguous. Temporary memory: none forward, backward the partial sums of
// planner/work/constants.h.
#pragma once

#include <ATen/core/Tensor.h>

namespace caravan::kernels {

struct Normed {
  at::Tensor scale_T;  // 1 / rms(x): all that backward needs besides x and w
  at::Tensor y_TD;
};

Normed rms_norm(const at::Tensor& x_TD, const at::Tensor& w_D, double eps);
// x becomes x + residual first.
Normed add_rms_norm(at::Tensor& x_TD, const at::Tensor& residual_TD, const at::Tensor& w_D, double eps);

// The output once more, to the bit.
at::Tensor rms_norm_apply(const at::Tensor& x_TD, const at::Tensor& w_D, const at::Tensor& scale_T);

// Turns the gradient by y into the gradient by x, in place, and adds `residual_TD` to it where defined. The
// weight's gradient is added to dw_D, of the type of scale_T.
void rms_norm_backward(at::Tensor& gradient_TD, const at::Tensor& x_TD, const at::Tensor& w_D,
                       const at::Tensor& scale_T, const at::Tensor& residual_TD, at::Tensor& dw_D);

}  // namespace caravan::kernels
