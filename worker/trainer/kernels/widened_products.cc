#include "worker/trainer/kernels/widened_products.h"

#include <ATen/cpu/Utils.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>

#include "worker/trainer/kernels/bf16_weight_gradient.h"

namespace caravan::kernels {
namespace {

// Of the factors at a time: enough that a product of them runs at its full speed.
constexpr int64_t kBlock = 2048;
// Where both ways took as long on an Intel processor with AVX-512 and no AMX.
constexpr int64_t kLeastSize = 96;

bool has_amx() {
  static const bool has = [] {
    const auto all = at::cpu::get_cpu_capabilities();
    return all.contains("amx_bf16") && all.at("amx_bf16").toBool();
  }();
  return has;
}

at::Tensor widened(const at::Tensor& narrow) {
  return narrow.to(at::kFloat);
}

}  // namespace

bool is_quicker_widened(const at::Tensor& a_MK, const at::Tensor& b_KN) {
  const int64_t least = std::min({a_MK.size(0), a_MK.size(1), b_KN.size(1)});
  return least >= kLeastSize && !has_amx() && !has_quick_bf16_dot_products();
}

void multiply_widened(const at::Tensor& a_MK, const at::Tensor& b_KN, at::Tensor& result_MN) {
  const int64_t m = a_MK.size(0), n = b_KN.size(1);
  for (int64_t row = 0; row < m; row += kBlock) {
    const int64_t rows = std::min(kBlock, m - row);
    const at::Tensor a = widened(a_MK.narrow(0, row, rows));
    for (int64_t column = 0; column < n; column += kBlock) {
      const int64_t columns = std::min(kBlock, n - column);
      const at::Tensor b = widened(b_KN.narrow(1, column, columns));
      result_MN.narrow(0, row, rows).narrow(1, column, columns).copy_(at::mm(a, b));
    }
  }
}

void add_weight_gradient_widened(const at::Tensor& dy_TO, const at::Tensor& x_TI, at::Tensor& dw_OI) {
  const int64_t tokens = x_TI.size(0);
  for (int64_t token = 0; token < tokens; token += kBlock) {
    const int64_t count = std::min(kBlock, tokens - token);
    dw_OI.addmm_(widened(dy_TO.narrow(0, token, count)).t(), widened(x_TI.narrow(0, token, count)));
  }
}

}  // namespace caravan::kernels
