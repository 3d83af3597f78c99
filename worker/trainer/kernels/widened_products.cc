#include "worker/trainer/kernels/widened_products.h"

#include <ATen/ops/mm.h>

#include <algorithm>

#include "worker/trainer/kernels/bf16_weight_gradient.h"
#include "worker/trainer/kernels/instruction_set.h"

namespace caravan::kernels {
namespace {

// Rows of a factor that are widened at a time: enough that a product of them runs at its full speed, and of
// long rows so many that a block takes 32 MiB.
constexpr int64_t kMostRows = 2048, kLeastRows = 256, kBlockElements = int64_t{1} << 23;
// Where both ways took as long on an Intel processor with AVX-512 and no AMX.
constexpr int64_t kLeastSize = 96;

int64_t rows_at_a_time(int64_t row_elements) {
  return std::clamp(kBlockElements / row_elements, kLeastRows, kMostRows);
}

at::Tensor widened(const at::Tensor& narrow) {
  return narrow.to(at::kFloat);
}

}  // namespace

bool is_quicker_widened(const at::Tensor& a_MK, const at::Tensor& b_KN) {
  const int64_t least = std::min({a_MK.size(0), a_MK.size(1), b_KN.size(1)});
  return least >= kLeastSize && !may_use_amx() && !has_quick_bf16_dot_products();
}

void multiply_widened(const at::Tensor& a_MK, const at::Tensor& b_KN, at::Tensor& result_MN) {
  const int64_t m = a_MK.size(0), n = b_KN.size(1), block = rows_at_a_time(a_MK.size(1));
  for (int64_t row = 0; row < m; row += block) {
    const int64_t rows = std::min(block, m - row);
    const at::Tensor a = widened(a_MK.narrow(0, row, rows));
    for (int64_t column = 0; column < n; column += block) {
      const int64_t columns = std::min(block, n - column);
      const at::Tensor b = widened(b_KN.narrow(1, column, columns));
      result_MN.narrow(0, row, rows).narrow(1, column, columns).copy_(at::mm(a, b));
    }
  }
}

void add_weight_gradient_widened(const at::Tensor& dy_TO, const at::Tensor& x_TI, at::Tensor& dw_OI) {
  const int64_t tokens = x_TI.size(0), block = rows_at_a_time(std::max(dy_TO.size(1), x_TI.size(1)));
  for (int64_t token = 0; token < tokens; token += block) {
    const int64_t count = std::min(block, tokens - token);
    dw_OI.addmm_(widened(dy_TO.narrow(0, token, count)).t(), widened(x_TI.narrow(0, token, count)));
  }
}

}  // namespace caravan::kernels
