#include "worker/trainer/kernels/linear.h"

#include <ATen/ops/mm.h>
#include <c10/util/Exception.h>

#include "worker/trainer/kernels/bf16_weight_gradient.h"
#include "worker/trainer/kernels/cpu_kernels.h"
#include "worker/trainer/kernels/widened_products.h"

// Of MKL, which the wheel of LibTorch has within it, without its headers: c = alpha · a · b + beta · c with
// sums in fp32, also on processors that know no bf16.
extern "C" void cblas_gemm_bf16bf16f32(int layout, int transpose_a, int transpose_b, int m, int n, int k,
                                       float alpha, const void* a, int stride_a, const void* b, int stride_b,
                                       float beta, float* c, int stride_c);

namespace caravan::kernels::cpu {
namespace {

// dw += dyᵀ · x. ATen's products of bf16 round their results to bf16.
void add_bf16_product(const at::Tensor& dy_TO, const at::Tensor& x_TI, at::Tensor& dw_OI) {
  TORCH_CHECK(dy_TO.stride(1) == 1 && x_TI.stride(1) == 1, "rows of activations lie in one piece");
  if (is_quicker_widened(dy_TO.t(), x_TI)) return add_weight_gradient_widened(dy_TO, x_TI, dw_OI);
  if (has_bf16_dot_products()) return add_bf16_weight_gradient(dy_TO, x_TI, dw_OI);
  constexpr int kRowMajor = 101, kPlain = 111, kTransposed = 112;
  const auto size = [](int64_t elements) { return static_cast<int>(elements); };
  cblas_gemm_bf16bf16f32(kRowMajor, kTransposed, kPlain, size(dw_OI.size(0)), size(dw_OI.size(1)),
                         size(x_TI.size(0)), 1, dy_TO.const_data_ptr(), size(dy_TO.stride(0)),
                         x_TI.const_data_ptr(), size(x_TI.stride(0)), 1, dw_OI.mutable_data_ptr<float>(),
                         size(dw_OI.stride(0)));
}

}  // namespace

void product(const at::Tensor& a, const at::Tensor& b, at::Tensor& result) {
  if (a.scalar_type() == at::kBFloat16 && is_quicker_widened(a, b)) return multiply_widened(a, b, result);
  at::mm_out(result, a, b);
}

void add_weight_gradient(const at::Tensor& dy_TO, const at::Tensor& x_TI, at::Tensor& dw_OI) {
  if (dw_OI.scalar_type() != x_TI.scalar_type()) return add_bf16_product(dy_TO, x_TI, dw_OI);
  dw_OI.addmm_(dy_TO.t(), x_TI);
}

}  // namespace caravan::kernels::cpu
