#include "worker/trainer/kernels/swiglu.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>

#include <algorithm>

#include "planner/work/constants.h"
#include "worker/trainer/memory/ledger.h"

namespace caravan::kernels {
namespace {

struct Halves {
  at::Tensor gate;
  at::Tensor up;
};

Halves halves(const at::Tensor& gate_up) {
  const int64_t ffn = gate_up.size(1) / 2;
  return {.gate = gate_up.narrow(1, 0, ffn), .up = gate_up.narrow(1, ffn, ffn)};
}

}  // namespace

at::Tensor swiglu_forward(const at::Tensor& gate_up_T2F) {
  const trainer::ChargeAs charge(trainer::MemoryUse::Workspace);
  const auto [gate, up] = halves(gate_up_T2F);
  at::Tensor gated_TF = at::empty(gate.sizes(), gate.options());
  at::silu_out(gated_TF, gate);
  gated_TF.mul_(up);
  return gated_TF;
}

void swiglu_backward(at::Tensor& gate_up_T2F, at::Tensor& gradient_TF) {
  const trainer::ChargeAs charge(trainer::MemoryUse::Workspace);
  const int64_t rows = gradient_TF.size(0);
  const int64_t block_rows = planner::block_rows(planner::kSwigluBlockElements, rows, gradient_TF.size(1));
  const at::Tensor silu_block = at::empty({block_rows, gradient_TF.size(1)}, gradient_TF.options());
  const at::Tensor product_block = at::empty({block_rows, gradient_TF.size(1)}, gradient_TF.options());
  for (int64_t row = 0; row < rows; row += block_rows) {
    const int64_t count = std::min(block_rows, rows - row);
    auto [gate, up] = halves(gate_up_T2F.narrow(0, row, count));
    at::Tensor gradient = gradient_TF.narrow(0, row, count);
    at::Tensor silu = silu_block.narrow(0, 0, count);
    at::Tensor product = product_block.narrow(0, 0, count);
    at::silu_out(silu, gate);
    at::mul_out(product, gradient, up);
    at::silu_backward_out(gate, product, gate);
    at::mul_out(product, silu, up);
    at::mul_out(up, silu, gradient);
    gradient.copy_(product);
  }
}

}  // namespace caravan::kernels
