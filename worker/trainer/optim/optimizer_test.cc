#include "worker/trainer/optim/optimizer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/zeros_like.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "worker/trainer/comm/solo_communicator.h"
#include "worker/trainer/comm/testing/fake_communicator.h"
#include "worker/trainer/comm/testing/forwarding_communicator.h"
#include "worker/trainer/comm/testing/silent_group.h"
#include "worker/trainer/kernels/host_copy.h"
#include "worker/trainer/model/testing/allocate_parameters.h"
#include "worker/trainer/optim/gradient_norm.h"
#include "worker/trainer/optim/gradient_sync.h"

namespace caravan::trainer {
namespace {

constexpr AdamWOptions kOptions{.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1};

planner::ModelShape tiny_model() {
  planner::ModelShape model;
  model.hidden = 16;
  model.layers = 2;
  model.heads = model.kv_heads = 2;
  model.head_dim = 8;
  model.ffn = 24;
  model.vocab = 32;
  return model;
}

ParameterStore tiny_store(at::ScalarType storage, int data_size = 1) {
  ParameterStore store = allocate_parameters(
      tiny_model(), {.chunks = {{.layers = 2, .has_embedding = true, .has_head = true}}}, data_size, storage);
  initialise_parameters(store, 3);
  return store;
}

// Different for every element, step and data rank.
at::Tensor gradient_of(const ParameterStore& store, int step, int data_rank) {
  const at::Tensor ramp = at::linspace(-1, 1, store.layout.elements, at::kFloat);
  return (ramp * static_cast<float>(step)).add_(0.25 * data_rank);
}

// The paper's algorithm 2 on one parameter, in fp64.
struct Oracle {
  explicit Oracle(const at::Tensor& start)
      : value(start.to(at::kDouble)), first(at::zeros_like(value)), second(at::zeros_like(value)) {}

  void update(const at::Tensor& gradient, int step, double rate, double decay) {
    const at::Tensor g = gradient.to(at::kDouble);
    first = first * kOptions.beta1 + g * (1 - kOptions.beta1);
    second = second * kOptions.beta2 + g * g * (1 - kOptions.beta2);
    const at::Tensor unbiased_first = first / (1 - std::pow(kOptions.beta1, step));
    const at::Tensor unbiased_second = second / (1 - std::pow(kOptions.beta2, step));
    value =
        value - rate * decay * value - rate * unbiased_first / (at::sqrt(unbiased_second) + kOptions.epsilon);
  }

  at::Tensor value, first, second;
};

void expect_the_papers_algorithm(at::ScalarType storage, double tolerance) {
  ParameterStore store = tiny_store(storage);
  SoloCommunicator data;
  Optimizer optimizer(store, data, kOptions, {.zero_stage = 1});
  std::vector<Oracle> oracles;
  for (const Parameter& parameter : store.layout.parameters) oracles.emplace_back(store.value(parameter));

  for (int step = 1; step <= 4; ++step) {
    const double rate = 0.01 * step;
    const double clip = step == 2 ? 0.5 : 1;
    store.gradients.copy_(gradient_of(store, step, 0));
    for (std::size_t p = 0; p < oracles.size(); ++p) {
      const Parameter& parameter = store.layout.parameters[p];
      oracles[p].update(store.gradient(parameter) * clip, step, rate,
                        parameter.weight_decay ? kOptions.weight_decay : 0);
    }
    optimizer.update(rate, clip);
  }
  for (std::size_t p = 0; p < oracles.size(); ++p) {
    const Parameter& parameter = store.layout.parameters[p];
    EXPECT_TRUE(at::allclose(store.value(parameter).to(at::kDouble), oracles[p].value, tolerance, tolerance))
        << parameter.name;
  }
}

TEST(Optimizer, FollowsThePaperInFp32) {
  expect_the_papers_algorithm(at::kFloat, 1e-6);
}

TEST(Optimizer, KeepsAnFp32MasterOfBf16Weights) {
  // Weights that were updated in bf16 would not move by steps of a thousandth: the oracle is only met with a
  // master.
  expect_the_papers_algorithm(at::kBFloat16, 1.0 / 256);
}

TEST(Optimizer, LeavesWeightsWithoutGradientsFiniteAtTheSmallestEpsilon) {
  AdamWOptions options = kOptions;
  options.epsilon = 1e-37;
  for (const at::ScalarType storage : {at::kFloat, at::kBFloat16}) {
    ParameterStore store = tiny_store(storage);
    SoloCommunicator data;
    Optimizer optimizer(store, data, options, {.zero_stage = 1});
    optimizer.update(0.01, 1);
    EXPECT_TRUE(at::isfinite(store.values).all().item<bool>()) << toString(storage);
  }
}

// Values after three steps of two data parallel ranks.
std::vector<at::Tensor> train_two_ranks(at::ScalarType storage, int zero_stage,
                                        const AdamWOptions& options = kOptions) {
  std::vector<at::Tensor> values(2);
  auto group = make_fake_group(2);
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      ParameterStore store = tiny_store(storage, 2);
      Mesh mesh{.shape = {.data = 2},
                .position = {.data = rank},
                .world = {},
                .tensor = std::make_unique<SoloCommunicator>(),
                .data = nullptr,
                .pipeline = {},
                .embedding = std::make_unique<SoloCommunicator>()};
      mesh.data = std::move(group[rank]);
      Optimizer optimizer(store, *mesh.data, options, {.zero_stage = zero_stage});
      for (int step = 1; step <= 3; ++step) {
        store.gradients.copy_(gradient_of(store, step, rank));
        GradientSums(store, mesh, {.zero_stage = zero_stage}, /*contributions=*/0).finish();
        optimizer.update(0.01, 1);
      }
      values[rank] = store.values;
    });
  }
  ranks.clear();
  return values;
}

TEST(Optimizer, ShardedStatesGiveTheSameBitsAsWholeOnes) {
  for (const at::ScalarType storage : {at::kFloat, at::kBFloat16}) {
    const auto whole = train_two_ranks(storage, 0);
    const auto sharded = train_two_ranks(storage, 1);
    EXPECT_TRUE(at::equal(whole[0], whole[1]));
    EXPECT_TRUE(at::equal(sharded[0], sharded[1]));
    EXPECT_TRUE(at::equal(whole[0], sharded[0]));
  }
}

TEST(Optimizer, MomentsInBf16AreRoundedTheSameWhereverTheyLie) {
  AdamWOptions options = kOptions;
  options.bf16_moments = true;
  options.seed = 1;
  const auto wide = train_two_ranks(at::kBFloat16, 1);
  const auto whole = train_two_ranks(at::kBFloat16, 0, options);
  const auto sharded = train_two_ranks(at::kBFloat16, 1, options);
  EXPECT_TRUE(at::equal(whole[0], whole[1]));
  EXPECT_TRUE(at::equal(whole[0], sharded[0]));
  EXPECT_TRUE(at::equal(sharded[0], sharded[1]));
  EXPECT_FALSE(at::equal(whole[0], wide[0]));
  EXPECT_TRUE(at::allclose(whole[0].to(at::kFloat), wide[0].to(at::kFloat), 0x1p-6, 1e-3));
}

at::Tensor all_of(const Optimizer& optimizer, const at::Tensor& values) {
  const OptimizerStates& states = optimizer.states();
  std::vector<at::Tensor> all = {values.to(at::kDouble), states.first_moment.to(at::kDouble),
                                 states.second_moment.to(at::kDouble)};
  if (states.master.defined()) all.push_back(states.master.to(at::kDouble));
  return at::cat(all);
}

// A model of more than one piece, with gradients of both signs and of many sizes.
ParameterStore large_store(at::ScalarType storage) {
  planner::ModelShape model = tiny_model();
  model.vocab = 20011;
  ParameterStore store = allocate_parameters(
      model, {.chunks = {{.layers = 2, .has_embedding = true, .has_head = true}}}, 1, storage);
  initialise_parameters(store, 3);
  return store;
}

void set_gradients(ParameterStore& store, int step) {
  const at::Tensor ramp = at::linspace(-3, 5, store.layout.elements, at::kFloat);
  store.gradients.copy_(at::sin(ramp * (1000.0 * step)) * at::exp(ramp));
}

TEST(TriedUpdate, GivesTheValuesOfAnUpdateAndConfirmedItsStates) {
  for (const at::ScalarType storage : {at::kFloat, at::kBFloat16}) {
    SoloCommunicator alone;
    ParameterStore straight = large_store(storage);
    ParameterStore tried = large_store(storage);
    Optimizer updates(straight, alone, kOptions, {});
    Optimizer tries(tried, alone, kOptions, {.tries_updates = true});
    for (int step = 1; step <= 3; ++step) {
      set_gradients(straight, step);
      set_gradients(tried, step);
      updates.update(0.01, 1);
      const at::Tensor states_before = tries.states().first_moment.clone();
      tries.try_update(0.01);
      EXPECT_TRUE(at::equal(tried.values, straight.values));
      EXPECT_TRUE(at::equal(tries.states().first_moment, states_before));
      EXPECT_EQ(tries.updates(), step - 1);
      tries.confirm(0.01);
      EXPECT_TRUE(at::equal(all_of(tries, tried.values), all_of(updates, straight.values)));
      EXPECT_EQ(tries.updates(), step);
    }
  }
}

TEST(TriedUpdate, TakenBackLeavesNoTrace) {
  for (const at::ScalarType storage : {at::kFloat, at::kBFloat16}) {
    SoloCommunicator alone;
    ParameterStore store = large_store(storage);
    Optimizer optimizer(store, alone, kOptions, {.tries_updates = true});
    set_gradients(store, 1);
    optimizer.update(0.01, 1);
    const at::Tensor before = all_of(optimizer, store.values);
    store.gradients.fill_(std::numeric_limits<float>::quiet_NaN());
    optimizer.try_update(0.01);
    EXPECT_TRUE(at::isnan(store.values).any().item<bool>());
    optimizer.take_back();
    EXPECT_TRUE(at::equal(all_of(optimizer, store.values), before));
    EXPECT_EQ(optimizer.updates(), 1);
  }
}

// What was started on a group of two, and waited for, by bucket.
class LaneOfBuckets final : public ForwardingCommunicator {
 public:
  LaneOfBuckets() : ForwardingCommunicator(std::make_unique<SilentGroup>()) {}

  bool overlaps() const override { return true; }
  std::unique_ptr<PendingTransfer> start(const Collective& collective) override {
    const int64_t offset = collective.output.storage_offset();
    const auto holds = [&](const Bucket& bucket) { return offset < bucket.offset + bucket.elements; };
    started.push_back(std::ranges::find_if(layout.buckets, holds)->name);
    return std::make_unique<Operation>(*this, started.back());
  }

  ParameterLayout layout;
  std::vector<std::string> started, awaited;
  std::string failing;

 private:
  struct Operation final : public PendingTransfer {
    Operation(LaneOfBuckets& lane_of, std::string of_bucket) : lane(lane_of), bucket(std::move(of_bucket)) {}
    void wait() override {
      if (bucket == lane.failing) throw CommunicationError("rank 1 of the group has ended");
      lane.awaited.push_back(bucket);
    }
    LaneOfBuckets& lane;
    std::string bucket;
  };
};

struct OneOfTwoRanks {
  OneOfTwoRanks() {
    auto group = std::make_unique<LaneOfBuckets>();
    group->layout = store.layout;
    lane = group.get();
    mesh.data = std::move(group);
  }

  ParameterStore store = tiny_store(at::kFloat, 2);
  Mesh mesh{};
  LaneOfBuckets* lane = nullptr;
};

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const CommunicationError& error) {
    return error.what();
  }
  return "no error";
}

enum BucketNumber { kEmbedding, kLayer0, kLayer1, kFinalNorm, kHead };

TEST(GradientSums, BeginWithTheLastContributionToTheirBucket) {
  OneOfTwoRanks rank;
  GradientSums sums(rank.store, rank.mesh, {}, /*contributions=*/2);
  for (int step = 0; step < 2; ++step) {
    rank.lane->started.clear();
    rank.lane->awaited.clear();
    sums.added(kHead);
    sums.added(kLayer1);
    EXPECT_THAT(rank.lane->started, testing::IsEmpty()) << "half of the micro-batches are missing";
    sums.added(kHead);
    sums.added(kLayer1);
    EXPECT_THAT(rank.lane->started, testing::ElementsAre("head", "layers.1"));
    EXPECT_THAT(rank.lane->awaited, testing::IsEmpty()) << "the rank should compute meanwhile";
    sums.finish();
    EXPECT_THAT(rank.lane->started,
                testing::ElementsAre("head", "layers.1", "embedding", "layers.0", "final_norm"));
    EXPECT_THAT(rank.lane->awaited, testing::UnorderedElementsAreArray(rank.lane->started));
  }
}

TEST(GradientSums, WhatIsLostUnderWayIsToldWithItsBucket) {
  OneOfTwoRanks rank;
  GradientSums sums(rank.store, rank.mesh, {}, /*contributions=*/1);
  rank.lane->failing = "layers.1";
  EXPECT_EQ(error_of([&] { sums.added(kLayer1); }), "no error");
  EXPECT_EQ(error_of([&] { sums.finish(); }),
            "waited for the gradients of layers.1: rank 1 of the group has ended");
}

TEST(Optimizer, GathersValuesUntilTheyAreRead) {
  OneOfTwoRanks rank;
  Optimizer optimizer(rank.store, *rank.mesh.data, kOptions, {.zero_stage = 1});
  optimizer.update(0.01, 1);
  const std::vector<std::string> all = {"embedding", "layers.0", "layers.1", "final_norm", "head"};
  EXPECT_EQ(rank.lane->started, all);
  EXPECT_THAT(rank.lane->awaited, testing::IsEmpty());
  optimizer.await_values(kLayer0);
  optimizer.await_values(kLayer0);
  EXPECT_THAT(rank.lane->awaited, testing::ElementsAre("layers.0"));
  optimizer.update(0.01, 1);
  EXPECT_THAT(rank.lane->awaited, testing::UnorderedElementsAreArray(all)) << "an update writes all values";
  rank.lane->failing = "head";
  EXPECT_EQ(error_of([&] { optimizer.await_values(); }),
            "waited for the values of head: rank 1 of the group has ended");
}

TEST(GradientNorm, AddsSquaresInFp64) {
  const at::Tensor flat = at::linspace(1, 40000, 40000, at::kFloat);
  const double n = 40000;
  EXPECT_DOUBLE_EQ(kernels::read_number(sum_of_squares(flat, {{0, 20000}, {20000, 20000}})),
                   n * (n + 1) * (2 * n + 1) / 6);
}

TEST(GradientNorm, IsNotFiniteWhenAnElementIsNot) {
  at::Tensor flat = at::linspace(1, 10, 10, at::kFloat);
  flat[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(std::isfinite(kernels::read_number(sum_of_squares(flat, {{0, 10}}))));
  EXPECT_TRUE(std::isfinite(kernels::read_number(sum_of_squares(flat, {{0, 7}}))));
}

}  // namespace
}  // namespace caravan::trainer
