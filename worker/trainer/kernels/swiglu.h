// SwiGLU (Shazeer, arXiv 2002.05202): gated = silu(gate) · up, silu(x) = x · sigmoid(x).
//
// A row of gate_up holds F gates, then F ups. No temporary memory; computed in fp32 (fp64 for fp64) and
// rounded once.
#pragma once

#include <ATen/core/Tensor.h>

namespace caravan::kernels {

at::Tensor swiglu_forward(const at::Tensor& gate_up_T2F);

// Both in place: gate_up becomes its gradient, and the gradient by the output becomes the output, which the
// weight gradient of the next matrix product needs.
void swiglu_backward(at::Tensor& gate_up_T2F, at::Tensor& gradient_TF);

}  // namespace caravan::kernels
