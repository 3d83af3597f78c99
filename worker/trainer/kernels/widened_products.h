// Matrix products of bf16 factors in fp32: for processors that multiply fp32 as fast as bf16, which are those
// without AMX but for AMD's since Zen 4.
//
// A product of two bf16 numbers is exact in fp32, so this adds the terms that bf16 instructions add, and
// rounds once. Factors are widened a block at a time, which bounds what it takes.
#pragma once

#include <ATen/core/Tensor.h>

namespace caravan::kernels {

// Whether that is the quicker way for a · b on this processor: each number that is widened must be used often
// enough.
bool is_quicker_widened(const at::Tensor& a_MK, const at::Tensor& b_KN);

// result = a · b, all bf16
void multiply_widened(const at::Tensor& a_MK, const at::Tensor& b_KN, at::Tensor& result_MN);

// dw += dyᵀ · x of bf16 factors; dw: fp32
void add_weight_gradient_widened(const at::Tensor& dy_TO, const at::Tensor& x_TI, at::Tensor& dw_OI);

}  // namespace caravan::kernels
