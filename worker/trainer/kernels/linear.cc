#include "worker/trainer/kernels/linear.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>

#include "worker/trainer/kernels/accumulate.h"
#include "worker/trainer/memory/counting_allocator.h"

namespace caravan::kernels {
namespace {

constexpr int64_t kBlockElements = 1 << 20;

at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor result = at::empty({a.size(0), b.size(1)}, a.options());
  multiply_into(result, a, b);
  return result;
}

}  // namespace

void multiply_into(at::Tensor& result, const at::Tensor& a, const at::Tensor& b) {
  const trainer::LibraryScratch scratch;
  at::mm_out(result, a, b);
}

at::Tensor linear_forward(const at::Tensor& x_TI, const at::Tensor& w_OI) {
  return product(x_TI, w_OI.t());
}

at::Tensor linear_backward_input(const at::Tensor& dy_TO, const at::Tensor& w_OI) {
  return product(dy_TO, w_OI);
}

void linear_backward_weight(const at::Tensor& dy_TO, const at::Tensor& x_TI, at::Tensor& dw_OI) {
  if (dw_OI.scalar_type() == x_TI.scalar_type()) {
    const trainer::LibraryScratch scratch;
    dw_OI.addmm_(dy_TO.t(), x_TI);
    return;
  }
  const int64_t rows = dw_OI.size(0);
  const int64_t columns = dw_OI.size(1);
  const int64_t block_rows = std::clamp<int64_t>(kBlockElements / columns, 1, rows);
  const at::Tensor block = at::empty({block_rows, columns}, x_TI.options());
  for (int64_t row = 0; row < rows; row += block_rows) {
    const int64_t count = std::min(block_rows, rows - row);
    at::Tensor part = block.narrow(0, 0, count);
    multiply_into(part, dy_TO.narrow(1, row, count).t(), x_TI);
    at::Tensor target = dw_OI.narrow(0, row, count);
    accumulate(target, part);
  }
}

}  // namespace caravan::kernels
