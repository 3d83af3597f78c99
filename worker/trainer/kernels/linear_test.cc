#include "worker/trainer/kernels/linear.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <tuple>

namespace caravan::kernels {
namespace {

TEST(Linear, GradientsEqualThoseOfAutograd) {
  const at::Tensor x_TI = at::randn({9, 14}, at::kDouble).requires_grad_();
  const at::Tensor w_OI = at::randn({11, 14}, at::kDouble).requires_grad_();
  const at::Tensor dy_TO = at::randn({9, 11}, at::kDouble);
  const at::Tensor oracle = at::matmul(x_TI, w_OI.t());
  oracle.backward(dy_TO);

  EXPECT_TRUE(at::allclose(linear_forward(x_TI.detach(), w_OI.detach()), oracle, 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(linear_backward_input(dy_TO, w_OI.detach()), x_TI.grad(), 1e-10, 1e-12));
  at::Tensor dw_OI = at::ones({11, 14}, at::kDouble);
  linear_backward_weight(dy_TO, x_TI.detach(), dw_OI);
  EXPECT_TRUE(at::allclose(dw_OI, w_OI.grad() + 1, 1e-10, 1e-12)) << "the weight's gradient is added";
}

// Small integers have exact sums in every type and order.
TEST(Linear, Bf16WeightGradientsAreAddedInFp32) {
  const at::Tensor x_TI = at::randint(-2, 3, {6, 2048}, at::kFloat);
  const at::Tensor dy_TO = at::randint(-2, 3, {6, 700}, at::kFloat);
  at::Tensor dw_OI = at::full({700, 2048}, 1000.0F);  // 1000 + 1 would round away in bf16
  linear_backward_weight(dy_TO.to(at::kBFloat16), x_TI.to(at::kBFloat16), dw_OI);
  EXPECT_TRUE(at::equal(dw_OI, at::matmul(dy_TO.t(), x_TI) + 1000));
}

// More tokens than bf16 has digits for: a product that was rounded before it is added would be off by
// sixteenths.
TEST(Linear, Bf16WeightGradientsAreNotRoundedOnTheWay) {
  const at::Tensor x_TI = at::randn({400, 37}).to(at::kBFloat16);
  const at::Tensor dy_TO = at::randn({400, 41}).to(at::kBFloat16);
  at::Tensor dw_OI = at::zeros({41, 37});
  linear_backward_weight(dy_TO, x_TI, dw_OI);
  const at::Tensor exact = at::matmul(dy_TO.t().to(at::kDouble), x_TI.to(at::kDouble));
  EXPECT_TRUE(at::allclose(dw_OI.to(at::kDouble), exact, 1e-4, 1e-4));
}

// Odd numbers of tokens, rows and columns, more than are worked on at a time; whatever has made them.
TEST(Linear, Bf16WeightGradientsOfOddShapes) {
  for (const auto& [tokens, outputs, inputs] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1}, {7, 100, 65}, {1031, 50, 130}, {2049, 7, 15}}) {
    const at::Tensor x_TI = at::randn({tokens, 2 * inputs}).to(at::kBFloat16).narrow(1, inputs, inputs);
    const at::Tensor dy_TO = at::randn({tokens, outputs}).to(at::kBFloat16);
    const at::Tensor start = at::randn({outputs, inputs});
    const auto add_on = [&](int threads) {
      at::set_num_threads(threads);
      at::Tensor dw_OI = start.clone();
      linear_backward_weight(dy_TO, x_TI, dw_OI);
      return dw_OI;
    };
    const int threads = at::get_num_threads();
    const at::Tensor made = add_on(1);
    EXPECT_TRUE(at::equal(add_on(3), made)) << "on three threads";
    at::set_num_threads(threads);
    const at::Tensor exact =
        start.to(at::kDouble) + at::matmul(dy_TO.t().to(at::kDouble), x_TI.to(at::kDouble));
    EXPECT_TRUE(at::allclose(made.to(at::kDouble), exact, 1e-4, 1e-3)) << tokens << " tokens";
  }
}

}  // namespace
}  // namespace caravan::kernels
