// Where no rounding can hide behind a tolerance: sums of small integers are exact in every order, and what is
// done in pieces in the same order gives the same bits.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <thread>

#include "worker/trainer/comm/fake_communicator.h"
#include "worker/trainer/comm/solo_communicator.h"
#include "worker/trainer/kernels/linear.h"
#include "worker/trainer/model/head.h"
#include "worker/trainer/model/parameters.h"
#include "worker/trainer/model/tensor_region.h"

namespace caravan::numerics {
namespace {

// T tokens, D hidden, F features between the two products

// Forward and backward of y = (x · upᵀ) · downᵀ for dy = x.
struct Products {
  at::Tensor output_TD, input_gradient_TD, up_gradient_FD, down_gradient_DF;
};

// At most 8 terms of 1 per element of the first product, 64 of the second: below 256 also bf16 is exact.
constexpr int64_t kTokens = 8;
constexpr int64_t kHidden = 8;
constexpr int64_t kFeatures = 8;

Products exact_products(const at::Tensor& x_TD, const at::Tensor& up_FD, const at::Tensor& down_DF) {
  const at::Tensor inner_TF = at::matmul(x_TD, up_FD.t());
  const at::Tensor inner_gradient_TF = at::matmul(x_TD, down_DF);
  return {.output_TD = at::matmul(inner_TF, down_DF.t()),
          .input_gradient_TD = at::matmul(inner_gradient_TF, up_FD),
          .up_gradient_FD = at::matmul(inner_gradient_TF.t(), x_TD),
          .down_gradient_DF = at::matmul(x_TD.t(), inner_TF)};
}

// One rank's rows and columns, put into its places of `all`.
void run_rank(trainer::Communicator& group, bool sequence_parallel, at::ScalarType storage,
              const at::Tensor& x_TD, const at::Tensor& up_FD, const at::Tensor& down_DF, Products& all) {
  const trainer::TensorRegion region(group, sequence_parallel);
  const int64_t features = kFeatures / group.size();
  const int64_t tokens = sequence_parallel ? kTokens / group.size() : kTokens;
  const int64_t feature = features * group.rank();
  const int64_t token = sequence_parallel ? tokens * group.rank() : 0;
  const at::Tensor up = up_FD.narrow(0, feature, features).to(storage);
  const at::Tensor down = down_DF.narrow(1, feature, features).to(storage).contiguous();
  const at::Tensor entered_TD = region.enter(x_TD.narrow(0, token, tokens).to(storage).contiguous());

  const at::Tensor inner_TF = kernels::linear_forward(entered_TD, up);
  all.output_TD.narrow(0, token, tokens).copy_(region.leave(kernels::linear_forward(inner_TF, down)));
  const at::Tensor inner_gradient_TF = kernels::linear_backward_input(entered_TD, down);
  all.input_gradient_TD.narrow(0, token, tokens)
      .copy_(region.leave(kernels::linear_backward_input(inner_gradient_TF, up)));
  at::Tensor up_gradient = at::zeros({features, kHidden}, at::kFloat);
  kernels::linear_backward_weight(inner_gradient_TF, entered_TD, up_gradient);
  all.up_gradient_FD.narrow(0, feature, features).copy_(up_gradient);
  at::Tensor down_gradient = at::zeros({kHidden, features}, at::kFloat);
  kernels::linear_backward_weight(entered_TD, inner_TF, down_gradient);
  all.down_gradient_DF.narrow(1, feature, features).copy_(down_gradient);
}

TEST(IntegerSums, AreExactHoweverTensorParallelismCutsThem) {
  at::set_num_threads(1);
  auto generator = at::detail::createCPUGenerator(3);
  const auto integers = [&](int64_t rows, int64_t columns) {
    return at::randint(-1, 2, {rows, columns}, generator, at::kFloat);
  };
  const at::Tensor x_TD = integers(kTokens, kHidden);
  const at::Tensor up_FD = integers(kFeatures, kHidden);
  const at::Tensor down_DF = integers(kHidden, kFeatures);
  const Products exact = exact_products(x_TD, up_FD, down_DF);
  for (const at::ScalarType storage : {at::kFloat, at::kBFloat16}) {
    for (const int size : {1, 2, 4}) {
      for (const bool sequence_parallel : {false, true}) {
        Products all{at::zeros_like(exact.output_TD), at::zeros_like(exact.input_gradient_TD),
                     at::zeros_like(exact.up_gradient_FD), at::zeros_like(exact.down_gradient_DF)};
        const auto group = trainer::make_fake_group(size);
        std::vector<std::jthread> ranks;
        for (const auto& communicator : group) {
          ranks.emplace_back(
              [&] { run_rank(*communicator, sequence_parallel, storage, x_TD, up_FD, down_DF, all); });
        }
        ranks.clear();
        EXPECT_TRUE(at::equal(all.output_TD, exact.output_TD)) << size << " ranks";
        EXPECT_TRUE(at::equal(all.input_gradient_TD, exact.input_gradient_TD)) << size << " ranks";
        EXPECT_TRUE(at::equal(all.up_gradient_FD, exact.up_gradient_FD)) << size << " ranks";
        EXPECT_TRUE(at::equal(all.down_gradient_DF, exact.down_gradient_DF)) << size << " ranks";
      }
    }
  }
}

// With this vocabulary the head takes 64 tokens at a time.
TEST(HeadChunks, GiveTheBitsOfTheSameTokensOneChunkAtATime) {
  at::set_num_threads(1);
  planner::ModelShape model;
  model.hidden = 16;
  model.layers = 0;
  model.heads = model.kv_heads = 1;
  model.head_dim = 16;
  model.ffn = 16;
  model.vocab = 40'000;
  const trainer::StagePlacement placement{.has_embedding = false};
  const at::Tensor input_TD = at::randn({100, model.hidden}, at::kFloat);
  const at::Tensor targets_T = at::randint(0, model.vocab, {100}, at::kLong);
  trainer::SoloCommunicator solo;
  const trainer::TensorRegion region(solo, /*sequence_parallel=*/false);
  const auto new_store = [&] {
    auto store = trainer::allocate_parameters(trainer::lay_out_parameters(model, placement, 1), at::kFloat);
    trainer::initialise_parameters(store, 7);
    return store;
  };

  const trainer::ParameterStore whole = new_store();
  const trainer::HeadOutput at_once =
      trainer::Head(whole, model, placement, region).forward_and_backward(input_TD.clone(), targets_T, 0.01);
  const trainer::ParameterStore pieces = new_store();
  const trainer::Head head(pieces, model, placement, region);
  const auto first =
      head.forward_and_backward(input_TD.narrow(0, 0, 64).clone(), targets_T.narrow(0, 0, 64), 0.01);
  const auto rest =
      head.forward_and_backward(input_TD.narrow(0, 64, 36).clone(), targets_T.narrow(0, 64, 36), 0.01);
  EXPECT_EQ(at_once.loss_sum, first.loss_sum + rest.loss_sum);
  EXPECT_TRUE(at::equal(at_once.gradient_TD, at::cat({first.gradient_TD, rest.gradient_TD})));
  EXPECT_TRUE(at::equal(whole.view("head").gradient, pieces.view("head").gradient));
}

}  // namespace
}  // namespace caravan::numerics
