// Matrix products of a linear layer y = x · wᵀ, as Hugging Face stores w: one row per output.
//
// x_TI, y_TO and w_OI have the storage type. Weight gradients are added to dw_OI, fp32 (fp64 for fp64), in
// the product itself. What the library allocates inside a product is not counted
// (trainer/memory/counting_allocator.h).
#pragma once

#include <ATen/core/Tensor.h>

namespace caravan::kernels {

at::Tensor linear_forward(const at::Tensor& x_TI, const at::Tensor& w_OI);
at::Tensor linear_backward_input(const at::Tensor& dy_TO, const at::Tensor& w_OI);
void linear_backward_input_into(at::Tensor& dx_TI, const at::Tensor& dy_TO, const at::Tensor& w_OI);
void linear_backward_weight(const at::Tensor& dy_TO, const at::Tensor& x_TI, at::Tensor& dw_OI);

}  // namespace caravan::kernels
