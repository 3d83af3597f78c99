#include "tests/numerics/run_layout.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "tests/numerics/full_tensors.h"
#include "worker/trainer/comm/fake_communicator.h"
#include "worker/trainer/model/stage.h"

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
       at::ScalarType storage, const at::Tensor& sample_BS, trainer::Communicator& group)
      : layout_(layout), group_(group) {
    std::vector<int> layers = layout.layers_per_stage;
    if (layers.empty()) layers.push_back(static_cast<int>(model.layers));
    int first_layer = 0;
    for (size_t i = 0; i < layers.size(); ++i) {
      const trainer::StagePlacement placement{.first_layer = first_layer,
                                              .layers = layers[i],
                                              .has_embedding = i == 0,
                                              .has_head = i + 1 == layers.size(),
                                              .tensor_rank = group.rank(),
                                              .tensor_size = group.size()};
      first_layer += layers[i];
      auto store = trainer::allocate_parameters(trainer::lay_out_parameters(model, placement, 1), storage);
      load_weights(store, weights);
      stages_.push_back({.store = std::move(store), .stage = nullptr});
      stages_.back().stage = std::make_unique<trainer::Stage>(
          trainer::StageOptions{.model = model,
                                .placement = placement,
                                .micro_batch_size = sample_BS.size(0),
                                .sequence_length = sample_BS.size(1),
                                .sequence_parallel = layout.sequence_parallel,
                                .activation_checkpointing = layout.activation_checkpointing,
                                .storage = storage},
          stages_.back().store, group);
    }
  }

  double run(const trainer::TokenBatch& batch) {
    trainer::StageOutput output;
    std::vector<std::shared_ptr<trainer::StageSaved>> saved;
    for (StageOfRank& each : stages_) {
      output = each.stage->forward(batch, std::move(output.activations_TD));
      saved.push_back(std::move(output.saved));
    }
    trainer::WeightGradientQueue queue;
    at::Tensor gradient_TD;
    for (size_t i = stages_.size(); i-- > 0;)
      gradient_TD = stages_[i].stage->backward(std::move(saved[i]), std::move(gradient_TD),
                                               layout_.weight_gradients_last ? &queue : nullptr);
    for (const auto& weight_gradient : queue) weight_gradient();
    return output.loss_sum;
  }

  void collect_gradients(NamedTensors& full) {
    for (StageOfRank& each : stages_) {
      for (const trainer::Parameter& parameter : each.store.layout.parameters) {
        if (!parameter.replicated_over_tensor || !layout_.sequence_parallel) continue;
        at::Tensor gradient = each.store.gradient(parameter);
        group_.all_reduce(gradient, trainer::Reduction::Sum);
      }
    }
    static std::mutex mutex;
    const std::scoped_lock lock(mutex);
    for (const StageOfRank& each : stages_) add_gradients(each.store, group_.rank(), full);
  }

 private:
  const LayoutCase& layout_;
  trainer::Communicator& group_;
  std::vector<StageOfRank> stages_;
};

}  // namespace

StepResult run_layout(const planner::ModelShape& model, const NamedTensors& weights, const LayoutCase& layout,
                      at::ScalarType storage, const std::vector<MicroBatch>& batches) {
  const double scale = 1 / real_tokens(batches);
  StepResult result;
  const auto group = trainer::make_fake_group(layout.tensor);
  std::vector<std::jthread> ranks;
  for (const auto& communicator : group) {
    ranks.emplace_back([&, &own_group = *communicator] {
      Rank rank(model, weights, layout, storage, batches[0].inputs_BS, own_group);
      double loss_sum = 0;
      for (const MicroBatch& batch : batches)
        loss_sum +=
            rank.run({.inputs_BS = batch.inputs_BS, .targets_BS = batch.targets_BS, .loss_scale = scale});
      if (own_group.rank() == 0) result.loss = loss_sum * scale;
      rank.collect_gradients(result.gradients);
    });
  }
  ranks.clear();
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
