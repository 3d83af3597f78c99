#include "worker/trainer/kernels/linear.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>

#include "planner/work/constants.h"
#include "worker/trainer/kernels/accumulate.h"
#include "worker/trainer/kernels/product_listener.h"
#include "worker/trainer/memory/ledger.h"

namespace caravan::kernels {
namespace {

void multiply_into(at::Tensor& result, const at::Tensor& a, const at::Tensor& b) {
  const trainer::LibraryScratch scratch;
  at::mm_out(result, a, b);
}

at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor result = at::empty({a.size(0), b.size(1)}, a.options());
  multiply_into(result, a, b);
  return result;
}

}  // namespace

at::Tensor linear_forward(const at::Tensor& x_TI, const at::Tensor& w_OI) {
  tell_product(x_TI.size(0), w_OI.size(0), w_OI.size(1));
  return product(x_TI, w_OI.t());
}

at::Tensor linear_backward_input(const at::Tensor& dy_TO, const at::Tensor& w_OI) {
  tell_product(dy_TO.size(0), w_OI.size(0), w_OI.size(1));
  return product(dy_TO, w_OI);
}

void linear_backward_input_into(at::Tensor& dx_TI, const at::Tensor& dy_TO, const at::Tensor& w_OI) {
  tell_product(dy_TO.size(0), w_OI.size(0), w_OI.size(1));
  multiply_into(dx_TI, dy_TO, w_OI);
}

void linear_backward_weight(const at::Tensor& dy_TO, const at::Tensor& x_TI, at::Tensor& dw_OI) {
  tell_product(x_TI.size(0), dw_OI.size(0), dw_OI.size(1));
  const trainer::ChargeAs charge(trainer::MemoryUse::Workspace);
  if (dw_OI.scalar_type() == x_TI.scalar_type()) {
    const trainer::LibraryScratch scratch;
    dw_OI.addmm_(dy_TO.t(), x_TI);
    return;
  }
  const int64_t rows = dw_OI.size(0);
  const int64_t columns = dw_OI.size(1);
  const int64_t block_rows = planner::block_rows(planner::kWeightGradientBlockElements, rows, columns);
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
