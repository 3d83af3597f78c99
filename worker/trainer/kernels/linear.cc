#include "worker/trainer/kernels/linear.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>

#include "worker/trainer/kernels/accumulate.h"

namespace caravan::kernels {
namespace {

constexpr int64_t kBlockElements = 1 << 20;

}  // namespace

at::Tensor linear_forward(const at::Tensor& x_TI, const at::Tensor& w_OI) {
  return at::mm(x_TI, w_OI.t());
}

at::Tensor linear_backward_input(const at::Tensor& dy_TO, const at::Tensor& w_OI) {
  return at::mm(dy_TO, w_OI);
}

void linear_backward_weight(const at::Tensor& dy_TO, const at::Tensor& x_TI, at::Tensor& dw_OI) {
  if (dw_OI.scalar_type() == x_TI.scalar_type()) {
    dw_OI.addmm_(dy_TO.t(), x_TI);
    return;
  }
  const int64_t rows = dw_OI.size(0);
  const int64_t columns = dw_OI.size(1);
  const int64_t block_rows = std::clamp<int64_t>(kBlockElements / columns, 1, rows);
  const at::Tensor block = at::empty({block_rows, columns}, x_TI.options());
  for (int64_t row = 0; row < rows; row += block_rows) {
    const int64_t count = std::min(block_rows, rows - row);
    at::Tensor product = block.narrow(0, 0, count);
    at::mm_out(product, dy_TO.narrow(1, row, count).t(), x_TI);
    at::Tensor target = dw_OI.narrow(0, row, count);
    accumulate(target, product);
  }
}

}  // namespace caravan::kernels
