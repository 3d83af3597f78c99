// Training with the kernels of GPUs, emulated or on a device, comes to what training with the kernels of the
// CPU comes to: model, optimizer and everything between them, which know no device, over the table that GPUs
// have.
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "worker/trainer/comm/solo_communicator.h"
#include "worker/trainer/device/testing/gpu.h"
#include "worker/trainer/kernels/host_copy.h"
#include "worker/trainer/model/stage.h"
#include "worker/trainer/model/testing/allocate_parameters.h"
#include "worker/trainer/optim/gradient_norm.h"
#include "worker/trainer/optim/optimizer.h"

namespace caravan::numerics {
namespace {

constexpr int64_t kSequences = 2, kLength = 12;
constexpr int kSteps = 2;

struct Case {
  std::string name;
  at::ScalarType storage = at::kFloat;
  std::vector<int64_t> segments = {};
  int recomputed_layers = 0;
  bool tied = false;
};

planner::ModelShape small_model(bool tied) {
  planner::ModelShape model;
  model.hidden = 24;
  model.layers = 2;
  model.heads = kernels::gpu::kTestedAttention.heads;
  model.kv_heads = kernels::gpu::kTestedAttention.kv_heads;
  model.head_dim = kernels::gpu::kTestedAttention.head_dim;
  model.ffn = 20;
  model.vocab = 37;
  model.tied_embeddings = tied;
  return model;
}

// On the host.
struct Result {
  std::vector<double> losses;
  at::Tensor gradients;  // of the first step
  double squared_norm = 0;
  at::Tensor values;
};

// One rank's training from the same weights on the same tokens.
class Training {
 public:
  Training(const Case& given, at::Device device)
      : case_(given),
        model_(small_model(given.tied)),
        store_(trainer::allocate_parameters(model_, placement(), /*padding=*/1,
                                            at::device(device).dtype(given.storage))) {
    trainer::initialise_parameters(store_, 11);
    store_.values.mul_(4);  // so that attention and gates are not all alike
    stage_.emplace(trainer::StageOptions{.model = model_,
                                         .placement = placement(),
                                         .micro_batch_size = sequences(),
                                         .sequence_length = kLength,
                                         .segments = given.segments,
                                         .storage = given.storage},
                   store_, alone_);
    optimizer_.emplace(store_, alone_, trainer::AdamWOptions{},
                       trainer::OptimizerPlace{.tries_updates = true});
  }

  Result run() {
    at::manual_seed(3);
    Result result;
    for (int step = 0; step < kSteps; ++step) {
      result.losses.push_back(compute_gradients());
      if (step == 0) {
        result.gradients = store_.gradients.to(at::kCPU, at::kDouble);
        result.squared_norm =
            kernels::read_number(trainer::sum_of_squares(store_.gradients, {{0, store_.layout.elements}}));
      }
      optimizer_->try_update(0.01);
      optimizer_->take_back();
      optimizer_->update(0.01, 0.5);
    }
    result.values = store_.values.to(at::kCPU, at::kDouble);
    return result;
  }

 private:
  // Where sequences are cut, one is at work at a time.
  int64_t sequences() const { return case_.segments.empty() ? kSequences : 1; }

  trainer::StagePlacement placement() const {
    return {.chunks = {{.layers = static_cast<int>(model_.layers),
                        .has_embedding = true,
                        .has_head = true,
                        .recomputed_layers = case_.recomputed_layers}}};
  }

  double compute_gradients() {
    const at::Tensor ids_BS = at::randint(0, model_.vocab, {sequences(), kLength + 1}, at::kLong);
    const std::vector<int64_t> lengths =
        case_.segments.empty() ? std::vector<int64_t>{kLength} : case_.segments;
    double loss = 0;
    std::shared_ptr<trainer::StageSaved> saved;
    int64_t first = 0;
    for (const int64_t length : lengths) {
      const trainer::TokenBatch batch{.inputs_BS = ids_BS.narrow(1, first, length),
                                      .targets_BS = ids_BS.narrow(1, first + 1, length),
                                      .loss_scale = 1.0 / (static_cast<double>(sequences()) * kLength)};
      trainer::StageOutput output = stage_->forward(0, batch, {}, std::move(saved));
      loss += kernels::read_number(output.loss_sum);
      saved = std::move(output.saved);
      first += length;
    }
    for (std::size_t i = 0; i < lengths.size(); ++i) (void)stage_->backward(saved, {}, nullptr);
    return loss;
  }

  const Case case_;
  const planner::ModelShape model_;
  trainer::ParameterStore store_;
  trainer::SoloCommunicator alone_;
  std::optional<trainer::Stage> stage_;
  std::optional<trainer::Optimizer> optimizer_;
};

double distance(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).norm() / b.norm()).item<double>();
}

Result train_on_gpu(const Case& given) {
  const kernels::gpu::TestedGpu& gpu = kernels::gpu::tested_gpu(given.storage);
  const kernels::UseKernels use(gpu.device.type(), *gpu.kernels);
  return Training(given, gpu.device).run();
}

class GpuTraining : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const kernels::gpu::TestedGpu& gpu = kernels::gpu::tested_gpu(GetParam().storage);
    if (gpu.kernels == nullptr) GTEST_SKIP() << gpu.missing;
  }
};

TEST_P(GpuTraining, ComesToWhatTheCpuComesTo) {
  const Result on_cpu = Training(GetParam(), at::kCPU).run();
  const Result on_gpu = train_on_gpu(GetParam());
  const bool is_exact = GetParam().storage == at::kFloat;
  const double tolerance = is_exact ? 2e-4 : 0.05;
  EXPECT_LT(distance(on_gpu.gradients, on_cpu.gradients), is_exact ? 1e-4 : 0.05);
  EXPECT_NEAR(on_gpu.squared_norm / on_cpu.squared_norm, 1, is_exact ? 1e-4 : 0.05);
  for (std::size_t step = 0; step < kSteps; ++step)
    EXPECT_NEAR(on_gpu.losses[step], on_cpu.losses[step], tolerance * on_cpu.losses[step]);
  // AdamW moves an element whose gradient is about zero either way, as roundings have it.
  EXPECT_LT(distance(on_gpu.values, on_cpu.values), tolerance);
}

// Of a device in fp32, where attention is plain products: cuDNN promises no order of sums.
TEST(GpuTrainingAgain, HasTheSameBits) {
  const kernels::gpu::TestedGpu& gpu = kernels::gpu::tested_gpu(at::kFloat);
  if (gpu.kernels == nullptr) GTEST_SKIP() << gpu.missing;
  for (const at::ScalarType storage : {at::kFloat, at::kBFloat16}) {
    if (storage == at::kBFloat16 && !gpu.device.is_cpu()) continue;
    const Case segments{.name = "", .storage = storage, .segments = {6, 6}};
    EXPECT_TRUE(at::equal(train_on_gpu(segments).values, train_on_gpu(segments).values)) << storage;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, GpuTraining,
    testing::Values(Case{.name = "Fp32"}, Case{.name = "Bf16", .storage = at::kBFloat16},
                    Case{.name = "Tied", .tied = true}, Case{.name = "Recomputed", .recomputed_layers = 1},
                    Case{.name = "Segments", .segments = {5, 4, 3}},
                    Case{.name = "SegmentsBf16", .storage = at::kBFloat16, .segments = {6, 6}}),
    [](const auto& info) { return kernels::gpu::kTestedGpu + info.param.name; });

}  // namespace
}  // namespace caravan::numerics
