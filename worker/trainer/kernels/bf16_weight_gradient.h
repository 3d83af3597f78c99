// dw += dyᵀ · x of bf16 factors in fp32, with the instructions for it that AVX-512 has where there is no AMX.
// AMD's since Zen 4 multiply twice as many bf16 factors with them as fp32 ones, Intel's as many.
#pragma once

#include <ATen/core/Tensor.h>

namespace caravan::kernels {

// Whether this processor has them and nothing better, and LibTorch may use AVX-512.
bool has_bf16_dot_products();
// Whether they are quicker there than products in fp32.
bool has_quick_bf16_dot_products();

// dy_TO and x_TI: bf16, rows in one piece. dw_OI: fp32. Sums are cut by shapes alone.
void add_bf16_weight_gradient(const at::Tensor& dy_TO, const at::Tensor& x_TI, at::Tensor& dw_OI);

}  // namespace caravan::kernels
