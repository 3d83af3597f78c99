#include "worker/trainer/kernels/rms_norm.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace caravan::kernels {
namespace {

constexpr double kEps = 1e-5;

TEST(RmsNorm, GradientsEqualThoseOfAutograd) {
  const at::Tensor x_TD = at::randn({7, 300}, at::kDouble).requires_grad_();
  const at::Tensor w_D = at::randn({300}, at::kDouble).requires_grad_();
  const at::Tensor dy_TD = at::randn({7, 300}, at::kDouble);
  const at::Tensor residual_TD = at::randn({7, 300}, at::kDouble);
  const at::Tensor oracle = x_TD * at::rsqrt(x_TD.square().mean(-1, true) + kEps) * w_D;
  oracle.backward(dy_TD);

  const at::Tensor x = x_TD.detach();
  const at::Tensor w = w_D.detach();
  const auto [scale_T, y_TD] = rms_norm(x, w, kEps);
  EXPECT_TRUE(at::allclose(y_TD, oracle, 1e-12, 1e-12));
  EXPECT_TRUE(at::equal(rms_norm_apply(x, w, scale_T), y_TD)) << "the same bits again";
  at::Tensor gradient_TD = dy_TD.clone();
  at::Tensor dw_D = at::ones({300}, at::kDouble);
  rms_norm_backward(gradient_TD, x, w, scale_T, residual_TD, dw_D);
  EXPECT_TRUE(at::allclose(gradient_TD, x_TD.grad() + residual_TD, 1e-10, 1e-12));
  EXPECT_TRUE(at::allclose(dw_D, w_D.grad() + 1, 1e-10, 1e-12)) << "the weight's gradient is added";
}

TEST(RmsNorm, StatisticsOfBf16AreFp32) {
  const at::Tensor x_TD = at::randn({5, 64}).to(at::kBFloat16);
  const at::Tensor w_D = at::randn({64}).to(at::kBFloat16);
  const auto [scale_T, y_TD] = rms_norm(x_TD, w_D, kEps);
  ASSERT_EQ(scale_T.scalar_type(), at::kFloat);
  const at::Tensor wide = x_TD.to(at::kFloat);
  EXPECT_TRUE(at::allclose(scale_T, at::rsqrt(wide.square().mean(-1) + kEps), 1e-6, 1e-6));
  const at::Tensor exact = wide * scale_T.unsqueeze(1) * w_D.to(at::kFloat);
  EXPECT_TRUE(at::equal(y_TD, exact.to(at::kBFloat16))) << "rounded once";
}

}  // namespace
}  // namespace caravan::kernels
