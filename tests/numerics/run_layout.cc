#include "tests/numerics/run_layout.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <thread>

#include "tests/numerics/full_tensors.h"
#include "worker/trainer/comm/solo_communicator.h"
#include "worker/trainer/comm/testing/fake_communicator.h"
#include "worker/trainer/kernels/host_copy.h"
#include "worker/trainer/model/stage.h"
#include "worker/trainer/model/testing/allocate_parameters.h"

namespace caravan::numerics {
namespace {

struct StageOfRank {
  trainer::ParameterStore store;
  std::unique_ptr<trainer::Stage> stage;
};

double real_tokens(const std::vector<MicroBatch>& batches) {
  int64_t count = 0;
  for (const MicroBatch& batch : batches) count += batch.targets_BS.ge(0).sum().item<int64_t>();
  return static_cast<double>(count);
}

class Rank {
 public:
  Rank(const planner::ModelShape& model, const NamedTensors& weights, const LayoutCase& layout,
       at::ScalarType storage, const at::Tensor& sample_BS, trainer::Mesh mesh)
      : layout_(layout), mesh_(std::move(mesh)) {
    std::vector<int> layers = layout.layers_per_stage;
    if (layers.empty()) layers.push_back(static_cast<int>(model.layers));
    int first_layer = 0;
    for (size_t i = 0; i < layers.size(); ++i) {
      const trainer::StagePlacement placement{
          .chunks = {{.first_layer = first_layer,
                      .layers = layers[i],
                      .has_embedding = i == 0,
                      .has_head = i + 1 == layers.size(),
                      .recomputed_layers = std::min(layout.recomputed_layers, layers[i])}},
          .tensor_rank = mesh_.position.tensor,
          .tensor_size = layout.tensor};
      first_layer += layers[i];
      auto store = trainer::allocate_parameters(model, placement, layout.data, storage);
      load_weights(store, weights);
      stages_.push_back({.store = std::move(store), .stage = nullptr});
      stages_.back().stage = std::make_unique<trainer::Stage>(
          trainer::StageOptions{.model = model,
                                .placement = placement,
                                .micro_batch_size = sample_BS.size(0),
                                .sequence_length = sample_BS.size(1),
                                .sequence_parallel = layout.sequence_parallel,
                                .recomputed_part = layout.recomputed_part,
                                .storage = storage},
          stages_.back().store, *mesh_.tensor);
    }
  }

  double run(const trainer::TokenBatch& batch) {
    trainer::StageOutput output;
    std::vector<std::shared_ptr<trainer::StageSaved>> saved;
    for (StageOfRank& each : stages_) {
      output = each.stage->forward(0, batch, std::move(output.activations_TD));
      saved.push_back(std::move(output.saved));
    }
    trainer::WeightGradientQueue queue;
    at::Tensor gradient_TD;
    for (size_t i = stages_.size(); i-- > 0;)
      gradient_TD = stages_[i].stage->backward(std::move(saved[i]), std::move(gradient_TD),
                                               layout_.weight_gradients_last ? &queue : nullptr);
    for (const auto& weight_gradient : queue) weight_gradient();
    return kernels::read_number(output.loss_sum);
  }

  // One data parallel rank speaks for all.
  void collect_gradients(NamedTensors& full) {
    for (StageOfRank& each : stages_) {
      sum_gradients(each.store, mesh_,
                    {.sequence_parallel = layout_.sequence_parallel, .zero_stage = layout_.zero_stage});
    }
    if (mesh_.position.data != 0) return;
    static std::mutex mutex;
    const std::scoped_lock lock(mutex);
    for (const StageOfRank& each : stages_) add_gradients(each.store, mesh_.position.tensor, full);
  }

 private:
  const LayoutCase& layout_;
  trainer::Mesh mesh_;
  std::vector<StageOfRank> stages_;
};

// Of every rank, tensor parallel the fastest axis.
std::vector<trainer::Mesh> fake_meshes(const LayoutCase& layout) {
  const planner::MeshShape shape{.tensor = layout.tensor, .data = layout.data};
  std::vector<trainer::Mesh> meshes(static_cast<size_t>(shape.ranks()));
  for (int rank = 0; rank < shape.ranks(); ++rank) {
    trainer::Mesh& mesh = meshes[static_cast<size_t>(rank)];
    mesh.shape = shape;
    mesh.position = position_of(rank, shape);
    mesh.embedding = std::make_unique<trainer::SoloCommunicator>();
  }
  const auto at = [&](int tensor, int data) -> trainer::Mesh& {
    return meshes[static_cast<size_t>(planner::rank_at({.tensor = tensor, .data = data}, shape))];
  };
  for (int data = 0; data < layout.data; ++data) {
    auto group = trainer::make_fake_group(layout.tensor);
    for (int tensor = 0; tensor < layout.tensor; ++tensor)
      at(tensor, data).tensor = std::move(group[static_cast<size_t>(tensor)]);
  }
  for (int tensor = 0; tensor < layout.tensor; ++tensor) {
    auto group = trainer::make_fake_group(layout.data);
    for (int data = 0; data < layout.data; ++data)
      at(tensor, data).data = std::move(group[static_cast<size_t>(data)]);
  }
  return meshes;
}

}  // namespace

StepResult run_layout(const planner::ModelShape& model, const NamedTensors& weights, const LayoutCase& layout,
                      at::ScalarType storage, const std::vector<MicroBatch>& batches) {
  const double scale = 1 / real_tokens(batches);
  StepResult result;
  std::vector<double> loss_sums(static_cast<size_t>(layout.data));
  std::vector<std::jthread> ranks;
  for (trainer::Mesh& mesh : fake_meshes(layout)) {
    ranks.emplace_back([&, own_mesh = std::move(mesh)]() mutable {
      const auto [tensor, data, pipeline] = own_mesh.position;
      Rank rank(model, weights, layout, storage, batches[0].inputs_BS, std::move(own_mesh));
      double loss_sum = 0;
      for (size_t i = static_cast<size_t>(data); i < batches.size(); i += static_cast<size_t>(layout.data))
        loss_sum += rank.run(
            {.inputs_BS = batches[i].inputs_BS, .targets_BS = batches[i].targets_BS, .loss_scale = scale});
      if (tensor == 0) loss_sums[static_cast<size_t>(data)] = loss_sum;
      rank.collect_gradients(result.gradients);
    });
  }
  ranks.clear();
  result.loss = std::accumulate(loss_sums.begin(), loss_sums.end(), 0.0) * scale;
  return result;
}

StepResult run_reference(const planner::ModelShape& model, const NamedTensors& weights,
                         const std::vector<MicroBatch>& batches) {
  const double scale = 1 / real_tokens(batches);
  NamedTensors own;
  for (const auto& [name, weight] : weights) own[name] = weight.detach().clone().requires_grad_();
  StepResult result;
  for (const MicroBatch& batch : batches) {
    const at::Tensor loss = reference_loss(model, own, batch.inputs_BS, batch.targets_BS) * scale;
    loss.backward();
    result.loss += loss.item<double>();
  }
  for (const auto& [name, weight] : own) result.gradients[name] = weight.grad();
  return result;
}

std::vector<MicroBatch> random_batches(const planner::ModelShape& model, int count, int64_t micro_batch_size,
                                       int64_t sequence_length) {
  auto generator = at::detail::createCPUGenerator(11);
  const auto tokens = [&] {
    return at::randint(0, model.vocab, {micro_batch_size, sequence_length}, generator, at::kLong);
  };
  std::vector<MicroBatch> batches;
  for (int i = 0; i < count; ++i) {
    MicroBatch batch{.inputs_BS = tokens(), .targets_BS = tokens()};
    batch.targets_BS.select(1, 2 + i).fill_(-1);
    batches.push_back(std::move(batch));
  }
  return batches;
}

void expect_close(const StepResult& actual, const StepResult& expected, double rtol, double atol) {
  EXPECT_NEAR(actual.loss, expected.loss, atol + rtol * std::abs(expected.loss));
  ASSERT_EQ(actual.gradients.size(), expected.gradients.size());
  for (const auto& [name, gradient] : expected.gradients) {
    const at::Tensor want = gradient.to(at::kDouble);
    const at::Tensor got = actual.gradients.at(name).to(at::kDouble);
    const at::Tensor excess = (got - want).abs() - (atol + rtol * want.abs());
    EXPECT_LE(excess.max().item<double>(), 0)
        << name << ": gradient differs by " << (got - want).abs().max().item<double>() << ", largest element "
        << want.abs().max().item<double>();
  }
}

void expect_bit_equal(const StepResult& actual, const StepResult& expected) {
  EXPECT_EQ(actual.loss, expected.loss);
  ASSERT_EQ(actual.gradients.size(), expected.gradients.size());
  for (const auto& [name, gradient] : expected.gradients)
    EXPECT_TRUE(at::equal(actual.gradients.at(name), gradient)) << name;
}

}  // namespace caravan::numerics
