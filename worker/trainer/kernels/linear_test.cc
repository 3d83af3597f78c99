#include "worker/trainer/kernels/linear.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <tuple>

#include "worker/trainer/kernels/bf16_weight_gradient.h"
#include "worker/trainer/kernels/instruction_set.h"
#include "worker/trainer/kernels/widened_products.h"

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

// Odd numbers of tokens, rows and columns, more than are worked on at a time.
TEST(Linear, Bf16DotProductsOfOddShapes) {
  if (!is_usable(InstructionSet::Avx512)) GTEST_SKIP() << "this machine has no AVX-512";
  const UseInstructionSet no_tiles(InstructionSet::Avx512);
  if (!has_bf16_dot_products()) GTEST_SKIP() << "this processor has no dot products of bf16 numbers";
  for (const auto& [tokens, outputs, inputs] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1}, {7, 100, 65}, {1031, 50, 130}, {2049, 7, 15}}) {
    const at::Tensor x_TI = at::randn({tokens, 2 * inputs}).to(at::kBFloat16).narrow(1, inputs, inputs);
    const at::Tensor dy_TO = at::randn({tokens, outputs}).to(at::kBFloat16);
    const at::Tensor start = at::randn({outputs, inputs});
    const auto add_on = [&](int threads) {
      at::set_num_threads(threads);
      at::Tensor dw_OI = start.clone();
      add_bf16_weight_gradient(dy_TO, x_TI, dw_OI);
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

// The same terms as bf16 instructions add, rounded once, whatever the shape and how the factors lie.
TEST(Linear, WidenedProductsOfOddShapes) {
  for (const auto& [m, k, n] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1}, {2051, 97, 33}, {70, 301, 2049}}) {
    const at::Tensor a_MK = at::randn({m, 2 * k}).to(at::kBFloat16).narrow(1, k, k);
    const at::Tensor b_NK = at::randn({n, k}).to(at::kBFloat16);
    at::Tensor result_MN = at::empty({m, n}, at::kBFloat16);
    multiply_widened(a_MK, b_NK.t(), result_MN);
    const at::Tensor exact_MN = at::matmul(a_MK.to(at::kDouble), b_NK.t().to(at::kDouble));
    EXPECT_TRUE(at::allclose(result_MN.to(at::kDouble), exact_MN, 0.004, 1e-4)) << m << " rows";

    const at::Tensor start_KN = at::randn({k, n});
    at::Tensor dw_KN = start_KN.clone();
    const at::Tensor x_MN = result_MN;
    add_weight_gradient_widened(a_MK, x_MN, dw_KN);
    const at::Tensor sum_KN =
        start_KN.to(at::kDouble) + at::matmul(a_MK.t().to(at::kDouble), x_MN.to(at::kDouble));
    EXPECT_TRUE(at::allclose(dw_KN.to(at::kDouble), sum_KN, 1e-4, 0.02)) << m << " tokens";
  }
}

// Of long rows fewer are widened at a time; whole numbers have exact sums whatever the blocks.
TEST(Linear, WidenedProductsOfLongRows) {
  const at::Tensor a_MK = at::randint(-1, 2, {300, 40000}, at::kFloat).to(at::kBFloat16);
  const at::Tensor b_NK = at::randint(-1, 2, {270, 40000}, at::kFloat).to(at::kBFloat16);
  at::Tensor result_MN = at::empty({300, 270}, at::kBFloat16);
  multiply_widened(a_MK, b_NK.t(), result_MN);
  const at::Tensor exact_MN = at::matmul(a_MK.to(at::kFloat), b_NK.t().to(at::kFloat));
  EXPECT_TRUE(at::equal(result_MN, exact_MN.to(at::kBFloat16)));
  at::Tensor dw_NK = at::ones({270, 40000});
  const at::Tensor dy_MN = at::sign(exact_MN).to(at::kBFloat16);
  add_weight_gradient_widened(dy_MN, a_MK, dw_NK);
  EXPECT_TRUE(at::equal(dw_NK, at::matmul(dy_MN.t().to(at::kFloat), a_MK.to(at::kFloat)) + 1));
}

// Which way a product goes must not show but in its time.
TEST(Linear, Bf16ProductsAreRoundedOnceWhateverTheirSize) {
  for (const int64_t size : {7, 95, 96, 200}) {
    const at::Tensor x_TI = at::randint(-2, 3, {size, size}, at::kFloat).to(at::kBFloat16);
    const at::Tensor w_OI = at::randint(-2, 3, {size, size}, at::kFloat).to(at::kBFloat16);
    const at::Tensor exact_TO = at::matmul(x_TI.to(at::kFloat), w_OI.t().to(at::kFloat)).to(at::kBFloat16);
    EXPECT_TRUE(at::equal(linear_forward(x_TI, w_OI), exact_TO)) << size;
  }
}

}  // namespace
}  // namespace caravan::kernels
