#include "worker/trainer/kernels/swiglu.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace caravan::kernels {
namespace {

// The second shape is worked on in several blocks of rows, the last one shorter.
TEST(SwiGlu, EqualsItsFormulaAndAutograd) {
  for (const auto& [rows, ffn] : {std::pair<int64_t, int64_t>{5, 12}, {100, 1500}}) {
    const at::Tensor oracle_gate_up = at::randn({rows, 2 * ffn}, at::kDouble).requires_grad_();
    const auto halves = oracle_gate_up.chunk(2, 1);
    const at::Tensor oracle = halves[0] * halves[0].sigmoid() * halves[1];
    const at::Tensor dy = at::randn({rows, ffn}, at::kDouble);
    oracle.backward(dy);

    at::Tensor gate_up = oracle_gate_up.detach().clone();
    const at::Tensor gated = swiglu_forward(gate_up);
    EXPECT_TRUE(at::allclose(gated, oracle, 1e-12, 1e-12));
    at::Tensor gradient = dy.clone();
    swiglu_backward(gate_up, gradient);
    EXPECT_TRUE(at::allclose(gate_up, oracle_gate_up.grad(), 1e-10, 1e-12));
    EXPECT_TRUE(at::allclose(gradient, gated, 1e-14, 1e-14)) << "the output comes back";
  }
}

}  // namespace
}  // namespace caravan::kernels
