// Where no rounding can hide behind a tolerance: sums of small integers are exact in every order, and what is
// done in pieces in the same order gives the same bits.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "planner/schedule/generate.h"
#include "tests/numerics/full_tensors.h"
#include "worker/trainer/comm/solo_communicator.h"
#include "worker/trainer/comm/testing/fake_communicator.h"
#include "worker/trainer/kernels/linear.h"
#include "worker/trainer/model/head.h"
#include "worker/trainer/model/parameters.h"
#include "worker/trainer/model/tensor_region.h"
#include "worker/trainer/model/testing/allocate_parameters.h"
#include "worker/trainer/optim/gradient_sync.h"
#include "worker/trainer/optim/optimizer.h"
#include "worker/trainer/pipeline/executor.h"

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

using planner::Op;
using planner::OpType;

// M micro-batches, T tokens, D hidden

// One linear layer of small integers per stage: y = x · Wᵀ. The loss is the sum of the last stage's output.
class IntegerStage final : public trainer::StageWork {
 public:
  IntegerStage(const at::Tensor& inputs_MTD, at::Tensor weight_DD, bool first, bool last)
      : inputs_MTD_(inputs_MTD), weight_DD_(std::move(weight_DD)), first_(first), last_(last) {}

  at::Tensor boundary_buffer(const Op&) const override {
    return at::empty({kTokens, kHidden}, weight_DD_.options());
  }

  at::Tensor run(const Op& op, at::Tensor input) override {
    switch (op.type) {
      case OpType::Forward:
        return forward(op.micro_batch, std::move(input));
      case OpType::Backward: {
        at::Tensor gradient_TD = backward_input(op.micro_batch, std::move(input));
        backward_weight(op.micro_batch);
        return gradient_TD;
      }
      case OpType::BackwardInput:
        return backward_input(op.micro_batch, std::move(input));
      case OpType::BackwardWeight:
        backward_weight(op.micro_batch);
        return {};
    }
    return {};
  }

  at::Tensor gradient_DD = at::zeros({kHidden, kHidden}, at::kFloat);

 private:
  at::Tensor forward(int micro_batch, at::Tensor input) {
    const at::Tensor x_TD = first_ ? inputs_MTD_[micro_batch].to(weight_DD_.scalar_type()) : std::move(input);
    saved_[micro_batch] = x_TD;
    const at::Tensor y_TD = kernels::linear_forward(x_TD, weight_DD_);
    return last_ ? at::Tensor() : y_TD;
  }

  at::Tensor backward_input(int micro_batch, at::Tensor gradient) {
    const at::Tensor dy_TD = last_ ? at::ones({kTokens, kHidden}, weight_DD_.options()) : std::move(gradient);
    waiting_[micro_batch] = dy_TD;
    return first_ ? at::Tensor() : kernels::linear_backward_input(dy_TD, weight_DD_);
  }

  void backward_weight(int micro_batch) {
    kernels::linear_backward_weight(waiting_.extract(micro_batch).mapped(),
                                    saved_.extract(micro_batch).mapped(), gradient_DD);
  }

  const at::Tensor& inputs_MTD_;
  const at::Tensor weight_DD_;
  const bool first_;
  const bool last_;
  std::map<int, at::Tensor> saved_;
  std::map<int, at::Tensor> waiting_;
};

at::Tensor integers(at::IntArrayRef shape, std::uint64_t seed) {
  return at::randint(-1, 2, shape, at::detail::createCPUGenerator(seed), at::kFloat);
}

// Of a layer on each stage, by the pipeline's executor.
std::vector<at::Tensor> gradients_through_a_pipeline(planner::ScheduleKind kind, at::ScalarType storage,
                                                     const at::Tensor& inputs_MTD,
                                                     const std::vector<at::Tensor>& weights_DD) {
  const auto stages = static_cast<int>(weights_DD.size());
  const auto micro_batches = static_cast<int>(inputs_MTD.size(0));
  const planner::Schedule schedule =
      planner::generate_schedule({.kind = kind, .stages = stages, .micro_batches = micro_batches});
  const auto group = trainer::make_fake_group(stages);
  std::vector<std::unique_ptr<IntegerStage>> works;
  std::vector<std::jthread> ranks;
  for (int stage = 0; stage < stages; ++stage) {
    const auto s = static_cast<std::size_t>(stage);
    works.push_back(std::make_unique<IntegerStage>(inputs_MTD, weights_DD[s].to(storage), stage == 0,
                                                   stage + 1 == stages));
    ranks.emplace_back([&, stage, work = works.back().get(), pipeline = group[s].get()] {
      execute(planner::add_transfers(schedule, stage, planner::messages_under_way(kind)), *work, *pipeline);
    });
  }
  ranks.clear();
  std::vector<at::Tensor> gradients;
  for (const auto& work : works) gradients.push_back(work->gradient_DD);
  return gradients;
}

TEST(IntegerSums, AreExactThroughThePipeline) {
  at::set_num_threads(1);
  const at::Tensor inputs_MTD = integers({4, kTokens, kHidden}, 5);
  const std::vector<at::Tensor> weights_DD = {integers({kHidden, kHidden}, 6),
                                              integers({kHidden, kHidden}, 7)};
  const at::Tensor x_TD = inputs_MTD.reshape({-1, kHidden});
  const at::Tensor ones_TD = at::ones_like(x_TD);
  const std::vector<at::Tensor> exact = {at::matmul(at::matmul(ones_TD, weights_DD[1]).t(), x_TD),
                                         at::matmul(ones_TD.t(), at::matmul(x_TD, weights_DD[0].t()))};
  for (const at::ScalarType storage : {at::kFloat, at::kBFloat16}) {
    for (const planner::ScheduleKind kind :
         {planner::ScheduleKind::GPipe, planner::ScheduleKind::OneFOneB, planner::ScheduleKind::ZeroBubbleH1,
          planner::ScheduleKind::ZeroBubbleH2}) {
      const auto found = gradients_through_a_pipeline(kind, storage, inputs_MTD, weights_DD);
      for (std::size_t stage = 0; stage < exact.size(); ++stage)
        EXPECT_TRUE(at::equal(found[stage], exact[stage])) << "stage " << stage;
    }
  }
}

planner::ModelShape tied_model() {
  planner::ModelShape model;
  model.hidden = 8;
  model.layers = 2;
  model.heads = model.kv_heads = 1;
  model.head_dim = 8;
  model.ffn = 8;
  model.vocab = 11;
  model.tied_embeddings = true;
  return model;
}

trainer::StagePlacement stage_of_two(int stage) {
  return {
      .chunks = {{.first_layer = stage, .layers = 1, .has_embedding = stage == 0, .has_head = stage == 1}}};
}

// Two rows of data parallel ranks, one row behind the other; ranks with equal places in them make pairs. In
// the second row the members stand in the opposite order where `reversed`, so that sums are made in another
// order.
std::vector<trainer::Mesh> two_rows(int data, bool reversed,
                                    std::unique_ptr<trainer::Communicator> trainer::Mesh::*pairs) {
  std::vector<trainer::Mesh> meshes(static_cast<std::size_t>(2 * data));
  const auto mesh_of = [&](int row, int rank) -> trainer::Mesh& {
    return meshes[static_cast<std::size_t>(row * data + rank)];
  };
  for (int row = 0; row < 2; ++row) {
    auto group = trainer::make_fake_group(data);
    for (int rank = 0; rank < data; ++rank) {
      const int member = reversed && row == 1 ? data - 1 - rank : rank;
      mesh_of(row, rank).position.data = rank;
      mesh_of(row, rank).data = std::move(group[static_cast<std::size_t>(member)]);
    }
  }
  for (int rank = 0; rank < data; ++rank) {
    auto pair = trainer::make_fake_group(2);
    for (int row = 0; row < 2; ++row)
      mesh_of(row, rank).*pairs = std::move(pair[static_cast<std::size_t>(row)]);
  }
  return meshes;
}

// By stage and data rank.
std::vector<trainer::Mesh> two_stages(int data, bool reversed) {
  auto meshes = two_rows(data, reversed, &trainer::Mesh::embedding);
  for (std::size_t rank = 0; rank < meshes.size(); ++rank) {
    meshes[rank].position.pipeline = rank < meshes.size() / 2 ? 0 : 1;
    meshes[rank].tensor = std::make_unique<trainer::SoloCommunicator>();
  }
  return meshes;
}

// Summed over all ranks, by rank; `make` is the gradient of a rank before.
std::vector<trainer::ParameterStore> summed(
    std::vector<trainer::Mesh>& meshes, int zero_stage,
    const std::function<at::Tensor(int rank, int64_t elements)>& make) {
  const auto data = static_cast<int>(meshes.size() / 2);
  std::vector<trainer::ParameterStore> stores;
  for (std::size_t rank = 0; rank < meshes.size(); ++rank) {
    const int stage = meshes[rank].position.pipeline;
    stores.push_back(trainer::allocate_parameters(tied_model(), stage_of_two(stage), data, at::kFloat));
    stores.back().gradients.copy_(make(static_cast<int>(rank), stores.back().layout.elements));
  }
  std::vector<std::jthread> ranks;
  for (std::size_t rank = 0; rank < meshes.size(); ++rank) {
    ranks.emplace_back([&, rank] {
      sum_gradients(stores[rank], meshes[rank], {.sequence_parallel = false, .zero_stage = zero_stage});
    });
  }
  ranks.clear();
  return stores;
}

TEST(IntegerSums, AreExactOverDataParallelRanksAndBothCopiesOfATiedTable) {
  for (const int data : {1, 2, 3, 4}) {
    for (const int zero_stage : {0, 1}) {
      auto meshes = two_stages(data, /*reversed=*/false);
      const auto made = [](int rank, int64_t elements) {
        return integers({elements}, static_cast<std::uint64_t>(rank));
      };
      const auto stores = summed(meshes, zero_stage, made);
      std::vector<at::Tensor> exact;  // by stage
      for (int stage = 0; stage < 2; ++stage) {
        const int64_t elements = stores[static_cast<std::size_t>(stage * data)].layout.elements;
        exact.push_back(at::zeros({elements}));
        for (int rank = 0; rank < data; ++rank) exact.back().add_(made(stage * data + rank, elements));
      }
      const trainer::Parameter& table = stores[0].layout.find("embedding");
      const trainer::Parameter& copy = stores.back().layout.find("head");
      at::Tensor first = exact[0].narrow(0, table.offset, table.elements);
      at::Tensor second = exact[1].narrow(0, copy.offset, copy.elements);
      first.copy_(second.copy_(first + second));
      for (std::size_t rank = 0; rank < stores.size(); ++rank) {
        for (const trainer::Parameter& parameter : stores[rank].layout.parameters) {
          const at::Tensor& whole = exact[rank / static_cast<std::size_t>(data)];
          EXPECT_TRUE(at::equal(stores[rank].gradients.narrow(0, parameter.offset, parameter.elements),
                                whole.narrow(0, parameter.offset, parameter.elements)))
              << parameter.name << ", rank " << rank << " of " << 2 * data << ", ZeRO-" << zero_stage;
        }
      }
    }
  }
}

// By rank, after a few updates with gradients that differ on every rank.
std::vector<trainer::ParameterStore> updated(std::vector<trainer::Mesh>& meshes, int zero_stage,
                                             at::ScalarType storage) {
  const auto data = static_cast<int>(meshes.size() / 2);
  std::vector<trainer::ParameterStore> stores;
  for (const trainer::Mesh& mesh : meshes) {
    stores.push_back(
        trainer::allocate_parameters(tied_model(), stage_of_two(mesh.position.pipeline), data, storage));
    trainer::initialise_parameters(stores.back(), 7);
  }
  std::vector<std::jthread> ranks;
  for (std::size_t rank = 0; rank < meshes.size(); ++rank) {
    ranks.emplace_back([&, rank] {
      trainer::ParameterStore& store = stores[rank];
      trainer::Optimizer optimizer(store, *meshes[rank].data, trainer::AdamWOptions{},
                                   {.zero_stage = zero_stage});
      auto generator = at::detail::createCPUGenerator(rank);
      for (int step = 0; step < 5; ++step) {
        store.gradients.copy_(at::randn({store.layout.elements}, generator, at::kFloat));
        trainer::GradientSums(store, meshes[rank], {.zero_stage = zero_stage}, /*contributions=*/0).finish();
        optimizer.update(/*learning_rate=*/0.01, /*gradient_scale=*/0.5);
      }
    });
  }
  ranks.clear();
  return stores;
}

TEST(TiedTables, StayTheSameToTheBitUpdateAfterUpdate) {
  for (const at::ScalarType storage : {at::kFloat, at::kBFloat16}) {
    for (const int zero_stage : {0, 1}) {
      auto meshes = two_stages(3, /*reversed=*/zero_stage == 0);
      const auto stores = updated(meshes, zero_stage, storage);
      for (std::size_t rank = 0; rank < 3; ++rank)
        EXPECT_TRUE(at::equal(stores[rank].view("embedding").value, stores[rank + 3].view("head").value))
            << "replica " << rank << ", ZeRO-" << zero_stage;
    }
  }
}

TEST(TiedTables, HaveTheSameBitsThoughTheirStagesSumInDifferentOrders) {
  auto meshes = two_stages(3, /*reversed=*/true);
  const auto stores = summed(meshes, /*zero_stage=*/0, [](int rank, int64_t elements) {
    return at::randn({elements}, at::detail::createCPUGenerator(static_cast<std::uint64_t>(rank)));
  });
  for (std::size_t rank = 0; rank < 3; ++rank)
    EXPECT_TRUE(at::equal(stores[rank].view("embedding").gradient, stores[rank + 3].view("head").gradient));
}

// Gradients of a stage on two tensor parallel ranks with three data parallel ones each, which add in opposite
// orders. Whole ones are what ranks have without sequence parallelism.
std::vector<trainer::ParameterStore> summed_over_tensor_ranks(bool sequence_parallel, int zero_stage) {
  auto meshes = two_rows(3, /*reversed=*/zero_stage == 0, &trainer::Mesh::tensor);
  planner::ModelShape model = tied_model();
  model.heads = model.kv_heads = 2;
  model.head_dim = 4;
  std::vector<trainer::ParameterStore> stores;
  for (std::size_t rank = 0; rank < meshes.size(); ++rank) {
    meshes[rank].embedding = std::make_unique<trainer::SoloCommunicator>();
    const trainer::StagePlacement placement{
        .chunks = {{.layers = 2}}, .tensor_rank = static_cast<int>(rank / 3), .tensor_size = 2};
    stores.push_back(trainer::allocate_parameters(model, placement, /*padding=*/3, at::kFloat));
    const std::uint64_t seed = sequence_parallel ? rank : rank % 3;
    stores.back().gradients.copy_(
        at::randn({stores.back().layout.elements}, at::detail::createCPUGenerator(seed)));
  }
  std::vector<std::jthread> ranks;
  for (std::size_t rank = 0; rank < meshes.size(); ++rank) {
    ranks.emplace_back([&, rank] {
      sum_gradients(stores[rank], meshes[rank],
                    {.sequence_parallel = sequence_parallel, .zero_stage = zero_stage});
    });
  }
  ranks.clear();
  return stores;
}

at::Tensor sum_of_seeds(const trainer::ParameterStore& store, const trainer::Parameter& parameter,
                        int seeds) {
  at::Tensor sum = at::zeros_like(store.gradient(parameter), at::kDouble);
  for (int seed = 0; seed < seeds; ++seed) {
    const at::Tensor all =
        at::randn({store.layout.elements}, at::detail::createCPUGenerator(static_cast<std::uint64_t>(seed)));
    sum.add_(all.narrow(0, parameter.offset, parameter.elements));
  }
  return sum;
}

TEST(Norms, HaveTheSameBitsThoughDataGroupsOfTensorRanksSumInDifferentOrders) {
  for (const int zero_stage : {0, 1}) {
    for (const bool sequence_parallel : {false, true}) {
      const auto stores = summed_over_tensor_ranks(sequence_parallel, zero_stage);
      for (const trainer::Parameter& parameter : stores[0].layout.parameters) {
        if (!parameter.replicated_over_tensor) continue;
        const at::Tensor sum = sum_of_seeds(stores[0], parameter, sequence_parallel ? 6 : 3);
        for (const trainer::ParameterStore& store : stores) {
          EXPECT_TRUE(at::equal(store.gradient(parameter), stores[0].gradient(parameter))) << zero_stage;
          EXPECT_TRUE(at::allclose(store.gradient(parameter).to(at::kDouble), sum, 1e-5, 1e-5)) << zero_stage;
        }
      }
    }
  }
}

// With this vocabulary the head takes 512 tokens at a time.
TEST(HeadChunks, GiveTheBitsOfTheSameTokensOneChunkAtATime) {
  at::set_num_threads(1);
  planner::ModelShape model;
  model.hidden = 16;
  model.layers = 0;
  model.heads = model.kv_heads = 1;
  model.head_dim = 16;
  model.ffn = 16;
  model.vocab = 40'000;
  const trainer::StagePlacement placement{.chunks = {{.has_head = true}}};
  const at::Tensor input_TD = at::randn({600, model.hidden}, at::kFloat);
  const at::Tensor targets_T = at::randint(0, model.vocab, {600}, at::kLong);
  trainer::SoloCommunicator solo;
  const trainer::TensorRegion region(solo, /*sequence_parallel=*/false);
  const auto new_store = [&] {
    auto store = trainer::allocate_parameters(model, placement, 1, at::kFloat);
    trainer::initialise_parameters(store, 7);
    return store;
  };

  const trainer::ParameterStore whole = new_store();
  const trainer::HeadOutput at_once =
      trainer::Head(whole, model, region).forward_and_backward(input_TD.clone(), targets_T, 0.01);
  const trainer::ParameterStore pieces = new_store();
  const trainer::Head head(pieces, model, region);
  const auto first =
      head.forward_and_backward(input_TD.narrow(0, 0, 512).clone(), targets_T.narrow(0, 0, 512), 0.01);
  const auto rest =
      head.forward_and_backward(input_TD.narrow(0, 512, 88).clone(), targets_T.narrow(0, 512, 88), 0.01);
  EXPECT_TRUE(at::equal(at_once.loss_sum, first.loss_sum + rest.loss_sum));
  EXPECT_TRUE(at::equal(at_once.gradient_TD, at::cat({first.gradient_TD, rest.gradient_TD})));
  EXPECT_TRUE(at::equal(whole.view("head").gradient, pieces.view("head").gradient));
}

}  // namespace
}  // namespace caravan::numerics
