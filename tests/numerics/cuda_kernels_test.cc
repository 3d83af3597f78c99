// The kernels for CUDA devices, emulated, do what the kernels of the CPU do: they share names, arguments and
// meaning.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "worker/trainer/cuda/adamw.h"
#include "worker/trainer/cuda/convert.h"
#include "worker/trainer/cuda/cross_entropy.h"
#include "worker/trainer/cuda/embedding.h"
#include "worker/trainer/cuda/rms_norm.h"
#include "worker/trainer/cuda/rope.h"
#include "worker/trainer/cuda/swiglu.h"
#include "worker/trainer/kernels/adamw.h"
#include "worker/trainer/kernels/cross_entropy.h"
#include "worker/trainer/kernels/embedding.h"
#include "worker/trainer/kernels/rms_norm.h"
#include "worker/trainer/kernels/rope.h"
#include "worker/trainer/kernels/swiglu.h"

namespace caravan {
namespace {

// T tokens, D hidden, F ffn, V vocabulary
constexpr int64_t kT = 6, kD = 96, kF = 40, kV = 51;

cuda::Storage storage_of(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat ? cuda::Storage::Float32 : cuda::Storage::BFloat16;
}

// Two sums in bf16 may round to neighbours, or in fp32 differ by some roundings.
bool near(const at::Tensor& a, const at::Tensor& b) {
  const bool wide = a.scalar_type() == at::kFloat;
  return at::allclose(a.to(at::kFloat), b.to(at::kFloat), wide ? 1e-5 : 1.0 / 64, wide ? 1e-6 : 1e-2);
}

class CudaKernels : public ::testing::TestWithParam<at::ScalarType> {
 protected:
  static at::Tensor random(at::IntArrayRef shape) { return at::randn(shape).to(GetParam()); }
};

TEST_P(CudaKernels, NormaliseAsTheCpuDoes) {
  const at::Tensor x_TD = random({kT, kD}), other_TD = random({kT, kD}), w_D = random({kD});
  const at::Tensor residual_TD = x_TD.clone(), y_TD = at::empty_like(x_TD), scale_T = at::empty({kT});
  ASSERT_TRUE(cuda::add_rms_norm({.storage = storage_of(x_TD),
                                  .rows = kT,
                                  .columns = kD,
                                  .epsilon = 1e-5F,
                                  .residual = residual_TD.data_ptr(),
                                  .x = other_TD.data_ptr(),
                                  .weight = w_D.data_ptr(),
                                  .output = y_TD.data_ptr(),
                                  .scale = scale_T.mutable_data_ptr<float>()},
                                 nullptr)
                  .ok());
  const at::Tensor sum_TD = x_TD + other_TD;
  EXPECT_TRUE(at::equal(residual_TD, sum_TD));
  const kernels::Normed normed = kernels::rms_norm(sum_TD, w_D, 1e-5);
  EXPECT_TRUE(at::allclose(scale_T, normed.scale_T, 1e-6));
  EXPECT_TRUE(near(y_TD, normed.y_TD));

  at::Tensor gradient_TD = random({kT, kD}), dw_D = at::randn({kD});
  const at::Tensor emulated_TD = gradient_TD.clone(), emulated_D = dw_D.clone(),
                   partial = at::empty({kT, kD});
  ASSERT_TRUE(cuda::rms_norm_backward({.storage = storage_of(x_TD),
                                       .rows = kT,
                                       .columns = kD,
                                       .gradient = emulated_TD.data_ptr(),
                                       .residual_gradient = other_TD.data_ptr(),
                                       .x = sum_TD.data_ptr(),
                                       .weight = w_D.data_ptr(),
                                       .scale = scale_T.mutable_data_ptr<float>(),
                                       .weight_gradient = emulated_D.mutable_data_ptr<float>(),
                                       .partial = partial.mutable_data_ptr<float>()},
                                      nullptr)
                  .ok());
  kernels::rms_norm_backward(gradient_TD, sum_TD, w_D, scale_T, other_TD, dw_D);
  EXPECT_TRUE(near(emulated_TD, gradient_TD));
  EXPECT_TRUE(near(emulated_D, dw_D));
}

TEST_P(CudaKernels, GateAsTheCpuDoes) {
  at::Tensor gate_up_T2F = random({kT, 2 * kF}), gradient_TF = random({kT, kF});
  const at::Tensor emulated_T2F = gate_up_T2F.clone(), emulated_TF = gradient_TF.clone();
  const at::Tensor output_TF = at::empty_like(gradient_TF);
  const cuda::Storage storage = storage_of(gradient_TF);
  ASSERT_TRUE(cuda::swiglu_forward({.storage = storage,
                                    .rows = kT,
                                    .columns = kF,
                                    .gate_up = emulated_T2F.data_ptr(),
                                    .output = output_TF.data_ptr()},
                                   nullptr)
                  .ok());
  EXPECT_TRUE(near(output_TF, kernels::swiglu_forward(gate_up_T2F)));
  ASSERT_TRUE(cuda::swiglu_backward({.storage = storage,
                                     .rows = kT,
                                     .columns = kF,
                                     .gate_up = emulated_T2F.data_ptr(),
                                     .gradient = emulated_TF.data_ptr()},
                                    nullptr)
                  .ok());
  kernels::swiglu_backward(gate_up_T2F, gradient_TF);
  EXPECT_TRUE(near(emulated_T2F, gate_up_T2F));
  EXPECT_TRUE(near(emulated_TF, gradient_TF));
}

TEST_P(CudaKernels, TurnAsTheCpuDoes) {
  constexpr int64_t kSequence = 3, kHeads = 2, kHeadDim = 16;
  at::Tensor heads_TE = random({kT, kHeads * kHeadDim + 5});
  const at::Tensor table_SK = at::rand({kSequence, kHeadDim});
  const at::Tensor emulated_TE = heads_TE.clone();
  ASSERT_TRUE(cuda::rope({.storage = storage_of(heads_TE),
                          .rotation = cuda::Rotation::Backward,
                          .rows = kT,
                          .row_size = heads_TE.size(1),
                          .heads = kHeads,
                          .head_dim = kHeadDim,
                          .sequence_length = kSequence,
                          .values = emulated_TE.data_ptr(),
                          .table = table_SK.const_data_ptr<float>()},
                         nullptr)
                  .ok());
  kernels::rope_apply(heads_TE, table_SK, kHeads, kernels::Rotation::Backward);
  EXPECT_TRUE(near(emulated_TE, heads_TE));
}

TEST_P(CudaKernels, EmbedAsTheCpuDoes) {
  constexpr int64_t kFirst = 3;
  const at::Tensor tokens = at::tensor({3, 9, 3, 4, 1, 60}, at::kLong);
  const at::Tensor table_VD = random({kV, kD}), dy_TD = random({kT, kD}),
                   y_TD = at::empty({kT, kD}, dy_TD.options());
  at::Tensor dtable_VD = at::randn({kV, kD});
  const at::Tensor emulated_VD = dtable_VD.clone();
  const auto* const token = tokens.const_data_ptr<int64_t>();
  ASSERT_TRUE(cuda::embedding_forward({.storage = storage_of(dy_TD),
                                       .tokens = kT,
                                       .columns = kD,
                                       .vocabulary = kV,
                                       .first_token = kFirst,
                                       .token = token,
                                       .table = table_VD.data_ptr(),
                                       .output = y_TD.data_ptr()},
                                      nullptr)
                  .ok());
  EXPECT_TRUE(at::equal(y_TD, kernels::embedding_forward(tokens, table_VD, kFirst)));
  int32_t row[kT], start[kT + 1], position[kT];
  const cuda::EmbeddingOrder order{.row = row, .start = start, .position = position};
  cuda::embedding_order(token, kT, kFirst, kV, order);
  ASSERT_TRUE(cuda::embedding_backward({.storage = storage_of(dy_TD),
                                        .tokens = kT,
                                        .columns = kD,
                                        .order = order,
                                        .gradient = dy_TD.data_ptr(),
                                        .table_gradient = emulated_VD.mutable_data_ptr<float>()},
                                       nullptr)
                  .ok());
  kernels::embedding_backward(dy_TD, tokens, dtable_VD, kFirst);
  EXPECT_TRUE(at::equal(emulated_VD, dtable_VD)) << "added in the same order";
}

TEST_P(CudaKernels, AccumulateInTheWiderType) {
  const at::Tensor term = random({1003});
  at::Tensor sum = at::randn({1003});
  const at::Tensor emulated = sum.clone();
  ASSERT_TRUE(cuda::accumulate({.elements = 1003,
                                .storage = storage_of(term),
                                .term = term.data_ptr(),
                                .sum = emulated.mutable_data_ptr<float>()},
                               nullptr)
                  .ok());
  sum.add_(term);
  EXPECT_TRUE(at::equal(emulated, sum));
}

INSTANTIATE_TEST_SUITE_P(Storage, CudaKernels, ::testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& info) { return c10::toString(info.param); });

TEST(CudaCrossEntropy, GivesWhatTheCpuGives) {
  constexpr int64_t kFirst = 10;
  constexpr float kScale = 0.5F;
  at::Tensor logits_CV = at::randn({kT, kV}), statistics_3C = at::empty({kernels::kStatistics, kT});
  const at::Tensor targets_C =
      at::tensor({10, 30, -100, 60, 12, 70}, at::kLong);  // the last is another rank's
  const at::Tensor emulated_CV = logits_CV.clone(), emulated_3C = at::empty_like(statistics_3C),
                   own_C = at::empty({kT});
  const cuda::CrossEntropyChunk chunk{.storage = cuda::Storage::Float32,
                                      .tokens = kT,
                                      .vocabulary = kV,
                                      .first_token = kFirst,
                                      .logits = emulated_CV.data_ptr(),
                                      .targets = targets_C.const_data_ptr<int64_t>(),
                                      .statistics = emulated_3C.mutable_data_ptr<float>(),
                                      .own_maximum = own_C.mutable_data_ptr<float>()};
  ASSERT_TRUE(cuda::cross_entropy_maxima(chunk, nullptr).ok());
  kernels::cross_entropy_maxima(logits_CV, statistics_3C);
  EXPECT_TRUE(at::equal(emulated_3C[kernels::kMaximum], statistics_3C[kernels::kMaximum]));
  emulated_3C[kernels::kMaximum].add_(1);  // as if another rank had larger logits
  statistics_3C[kernels::kMaximum].add_(1);
  ASSERT_TRUE(cuda::cross_entropy_sums(chunk, nullptr).ok());
  kernels::cross_entropy_sums(logits_CV, targets_C, kFirst, statistics_3C);
  EXPECT_TRUE(near(emulated_3C, statistics_3C));
  double loss = 0;
  ASSERT_TRUE(cuda::cross_entropy_loss(chunk, &loss, nullptr).ok());
  EXPECT_NEAR(loss, kernels::cross_entropy_loss(targets_C, statistics_3C), 1e-5);
  ASSERT_TRUE(cuda::cross_entropy_gradient(chunk, kScale, nullptr).ok());
  kernels::cross_entropy_gradient(logits_CV, targets_C, kFirst, kScale, statistics_3C);
  EXPECT_TRUE(near(emulated_CV, logits_CV));
}

TEST(CudaAdamW, UpdatesAsTheCpuDoes) {
  const at::Tensor weights = at::randn({1003}), gradients = at::randn({1003}), first = at::zeros({1003}),
                   second = at::zeros({1003});
  const at::Tensor emulated = weights.clone(), emulated_gradients = gradients.clone(),
                   emulated_first = first.clone(), emulated_second = second.clone();
  const float scale = 1;
  for (int64_t step = 1; step <= 3; ++step) {
    gradients.normal_();
    emulated_gradients.copy_(gradients);
    ASSERT_TRUE(cuda::adamw({.elements = 1003,
                             .weights = emulated.mutable_data_ptr<float>(),
                             .gradients = emulated_gradients.mutable_data_ptr<float>(),
                             .moments = cuda::Storage::Float32,
                             .first_moment = emulated_first.data_ptr(),
                             .second_moment = emulated_second.data_ptr(),
                             .bf16_weights = nullptr,
                             .gradient_scale = &scale,
                             .learning_rate = 1e-2,
                             .beta1 = 0.9,
                             .beta2 = 0.95,
                             .epsilon = 1e-8,
                             .weight_decay = 0.1,
                             .step = step,
                             .seed = 1,
                             .first_element = 0},
                            nullptr)
                    .ok());
    kernels::adamw({.weights = weights,
                    .gradients = gradients,
                    .first_moment = first,
                    .second_moment = second,
                    .values = weights},
                   {.learning_rate = 1e-2,
                    .beta1 = 0.9,
                    .beta2 = 0.95,
                    .epsilon = 1e-8,
                    .weight_decay = 0.1,
                    .step = step});
    EXPECT_TRUE(at::equal(emulated_gradients, gradients)) << "both zero";
  }
  EXPECT_TRUE(near(emulated, weights));
  EXPECT_TRUE(near(emulated_first, first));
  EXPECT_TRUE(near(emulated_second, second));
}

}  // namespace
}  // namespace caravan
