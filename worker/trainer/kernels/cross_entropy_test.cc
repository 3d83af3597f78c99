#include "worker/trainer/kernels/cross_entropy.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <vector>

#include "worker/trainer/kernels/host_copy.h"

namespace caravan::kernels {
namespace {

constexpr double kScale = 0.25;

struct Shard {
  int64_t first_token;
  at::Tensor logits_CV;
  at::Tensor statistics_3C;
};

struct LossAndGradient {
  double loss;
  at::Tensor gradient;
};

// The group's meetings are made by hand: maximum, then sums.
LossAndGradient run_shards(const at::Tensor& logits_CV, const at::Tensor& targets_C,
                           const std::vector<int64_t>& sizes) {
  std::vector<Shard> shards;
  int64_t first = 0;
  for (const int64_t size : sizes) {
    shards.push_back({.first_token = first,
                      .logits_CV = logits_CV.narrow(1, first, size).clone(),
                      .statistics_3C = at::empty({kStatistics, logits_CV.size(0)}, logits_CV.options())});
    first += size;
  }
  at::Tensor maxima = at::full({logits_CV.size(0)}, -1e300, at::kDouble);
  for (Shard& shard : shards) {
    cross_entropy_maxima(shard.logits_CV, shard.statistics_3C);
    maxima = at::maximum(maxima, shard.statistics_3C[kMaximum]);
  }
  at::Tensor sums = at::zeros({2, logits_CV.size(0)}, at::kDouble);
  for (Shard& shard : shards) {
    shard.statistics_3C[kMaximum].copy_(maxima);
    cross_entropy_sums(shard.logits_CV, targets_C, shard.first_token, shard.statistics_3C);
    sums += shard.statistics_3C.narrow(0, kSum, 2);
  }
  std::vector<at::Tensor> gradients;
  double loss = 0;
  for (Shard& shard : shards) {
    shard.statistics_3C.narrow(0, kSum, 2).copy_(sums);
    at::Tensor sum = zero_where(logits_CV);
    add_cross_entropy_loss(targets_C, shard.statistics_3C, sum);
    loss = read_number(sum);
    cross_entropy_gradient(shard.logits_CV, targets_C, shard.first_token, kScale, shard.statistics_3C);
    gradients.push_back(shard.logits_CV);
  }
  return {.loss = loss, .gradient = at::cat(gradients, 1)};
}

TEST(CrossEntropy, EqualsAutogradHoweverTheVocabularyIsCut) {
  const at::Tensor logits_CV = at::randn({6, 10}, at::kDouble).requires_grad_();
  const std::vector<int64_t> targets = {0, 9, -1, 4, 5, 9};
  const at::Tensor targets_C = at::tensor(targets);
  const at::Tensor oracle = at::nll_loss(logits_CV.log_softmax(-1), targets_C, /*weight=*/{},
                                         at::Reduction::Sum, /*ignore_index=*/-1);
  (oracle * kScale).backward();

  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{10}, {5, 5}, {4, 4, 2, 0}}) {
    const auto [loss, gradient] = run_shards(logits_CV.detach(), targets_C, sizes);
    EXPECT_NEAR(loss, oracle.item<double>(), 1e-10);
    EXPECT_TRUE(at::allclose(gradient, logits_CV.grad(), 1e-10, 1e-14));
  }
}

TEST(CrossEntropy, LargeLogitsDoNotOverflow) {
  at::Tensor logits_CV = at::zeros({1, 3}, at::kDouble);
  logits_CV[0][1] = 5000;
  const auto [loss, gradient] = run_shards(logits_CV, at::zeros({1}, at::kLong), {2, 1});
  EXPECT_EQ(loss, 5000);
  EXPECT_EQ(gradient[0][0].item<double>(), -kScale);
  EXPECT_EQ(gradient[0][1].item<double>(), kScale);
}

}  // namespace
}  // namespace caravan::kernels
