// The whole model against Hugging Face's LlamaForCausalLM: loss, the probability of single tokens, every
// gradient.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full_like.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>

#include "common/testing/checkout.h"
#include "tests/numerics/run_layout.h"

namespace caravan::numerics {
namespace {

namespace fs = std::filesystem;

constexpr int kTransformersIsMissing = 77;
constexpr int64_t kSequences = 2;
constexpr int64_t kSequenceLength = 64;

struct Case {
  const char* name;
  int64_t kv_heads = 8;
  bool tied_embeddings = false;
  double rope_theta = 10000;
  bool rope_scaling = false;
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name;
}

planner::ModelShape shape_of(const Case& each) {
  planner::ModelShape model;
  model.hidden = 64;
  model.layers = 3;
  model.heads = 8;
  model.kv_heads = each.kv_heads;
  model.head_dim = 16;
  model.ffn = 176;
  model.vocab = 320;
  model.tied_embeddings = each.tied_embeddings;
  model.rope_theta = each.rope_theta;
  if (each.rope_scaling) model.rope_scaling = planner::RopeScaling{.original_positions = 32};
  return model;
}

void write_raw(const fs::path& file, const at::Tensor& tensor) {
  const at::Tensor contiguous = tensor.contiguous();
  std::ofstream(file, std::ios::binary)
      .write(static_cast<const char*>(contiguous.const_data_ptr()),
             static_cast<std::streamsize>(contiguous.nbytes()));
}

at::Tensor read_raw(const fs::path& file, at::IntArrayRef shape, at::ScalarType type) {
  at::Tensor tensor = at::empty(shape, type);
  std::ifstream stream(file, std::ios::binary);
  stream.read(static_cast<char*>(tensor.mutable_data_ptr()), static_cast<std::streamsize>(tensor.nbytes()));
  EXPECT_TRUE(stream.good()) << file << " is missing or too short";
  return tensor;
}

std::string rope_json(const planner::ModelShape& model) {
  if (!model.rope_scaling)
    return fmt::format(R"({{"rope_type": "default", "rope_theta": {}}})", model.rope_theta);
  const planner::RopeScaling& scaling = *model.rope_scaling;
  return fmt::format(
      R"({{"rope_type": "llama3", "rope_theta": {}, "factor": {}, "low_freq_factor": {}, "high_freq_factor": {},
          "original_max_position_embeddings": {}}})",
      model.rope_theta, scaling.factor, scaling.low_frequency_factor, scaling.high_frequency_factor,
      scaling.original_positions);
}

std::string config_json(const planner::ModelShape& model) {
  return fmt::format(
      R"({{"hidden_size": {}, "num_hidden_layers": {}, "num_attention_heads": {}, "num_key_value_heads": {}, "head_dim": {},
          "intermediate_size": {}, "vocab_size": {}, "tie_word_embeddings": {}, "rms_norm_eps": {},
          "max_position_embeddings": 4096, "rope_parameters": {}, "batch_shape": [{}, {}]}})",
      model.hidden, model.layers, model.heads, model.kv_heads, model.head_dim, model.ffn, model.vocab,
      model.tied_embeddings, model.norm_eps, rope_json(model), kSequences, kSequenceLength);
}

// A folder that the oracle reads and writes; removed at the end.
class Oracle {
 public:
  Oracle(const planner::ModelShape& model, const NamedTensors& weights, const MicroBatch& batch)
      : folder_(fs::path(testing::TempDir()) / fmt::format("transformers-{}", ::getpid())) {
    fs::create_directories(folder_ / "weights");
    std::ofstream(folder_ / "config.json") << config_json(model);
    for (const auto& [name, weight] : weights)
      write_raw(folder_ / "weights" / name, weight.detach().to(at::kFloat));
    write_raw(folder_ / "inputs", batch.inputs_BS);
    write_raw(folder_ / "targets", batch.targets_BS);
  }
  ~Oracle() { fs::remove_all(folder_); }
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  int run() const {
    const std::string command = fmt::format("'{}' '{}/tests/numerics/transformers_oracle.py' '{}'",
                                            CARAVAN_PYTHON, test::source_folder(), folder_.string());
    return WEXITSTATUS(std::system(command.c_str()));
  }

  StepResult result(const NamedTensors& weights) const {
    StepResult result;
    result.loss = read_raw(folder_ / "loss", {1}, at::kDouble).item<double>();
    for (const auto& [name, weight] : weights)
      result.gradients[name] = read_raw(folder_ / "gradients" / name, weight.sizes(), at::kFloat);
    return result;
  }

  at::Tensor log_probabilities(int64_t vocab) const {
    return read_raw(folder_ / "log_probabilities", {kSequences * kSequenceLength, vocab}, at::kFloat);
  }

 private:
  const fs::path folder_;
};

// Representable in bf16, so that all runs start from the same model.
NamedTensors rounded_weights(const planner::ModelShape& model) {
  NamedTensors weights = random_weights(model, 17);
  for (auto& [name, weight] : weights) weight = weight.detach().to(at::kBFloat16).to(at::kDouble);
  return weights;
}

void expect_same_direction_and_length(const StepResult& actual, const StepResult& expected) {
  double cosines = 0;
  double length_errors = 0;
  for (const auto& [name, gradient] : expected.gradients) {
    const at::Tensor want = gradient.flatten().to(at::kDouble);
    const at::Tensor got = actual.gradients.at(name).flatten().to(at::kDouble);
    const double lengths = (got.norm() * want.norm()).item<double>();
    cosines += at::dot(got, want).item<double>() / lengths;
    length_errors += std::abs((got.norm() / want.norm()).item<double>() - 1);
  }
  const auto count = static_cast<double>(expected.gradients.size());
  EXPECT_GT(cosines / count, 0.999);
  EXPECT_LT(length_errors / count, 0.01);
  EXPECT_NEAR(actual.loss, expected.loss, 0.01 * expected.loss);
}

class Transformers : public testing::TestWithParam<Case> {};

TEST_P(Transformers, GiveTheSameLossProbabilitiesAndGradients) {
  at::set_num_threads(1);
  const planner::ModelShape model = shape_of(GetParam());
  const NamedTensors weights = rounded_weights(model);
  const std::vector<MicroBatch> batches = random_batches(model, 1, kSequences, kSequenceLength);
  const Oracle oracle(model, weights, batches[0]);
  const int exit_code = oracle.run();
  if (exit_code == kTransformersIsMissing) GTEST_SKIP() << "transformers is not installed";
  ASSERT_EQ(exit_code, 0) << "the oracle failed";
  const StepResult expected = oracle.result(weights);

  const LayoutCase one_rank{.name = "OneRank"};
  expect_close(run_layout(model, weights, one_rank, at::kFloat, batches), expected, 1e-5, 1e-6);
  const LayoutCase tensor_parallel{.name = "Tensor2Sequence", .tensor = 2, .sequence_parallel = true};
  expect_close(run_layout(model, weights, tensor_parallel, at::kFloat, batches), expected, 1e-5, 1e-6);
  expect_same_direction_and_length(run_layout(model, weights, one_rank, at::kBFloat16, batches), expected);

  const at::Tensor log_probabilities = oracle.log_probabilities(model.vocab);
  for (const int64_t position : {int64_t{0}, kSequenceLength - 1, 2 * kSequenceLength - 1}) {
    for (const int64_t token : {int64_t{0}, model.vocab / 2, model.vocab - 1}) {
      MicroBatch single{.inputs_BS = batches[0].inputs_BS,
                        .targets_BS = at::full_like(batches[0].targets_BS, -1)};
      single.targets_BS.view(-1)[position] = token;
      EXPECT_NEAR(-run_layout(model, weights, one_rank, at::kFloat, {single}).loss,
                  log_probabilities[position][token].item<double>(), 1e-5)
          << "token " << token << " at position " << position;
    }
  }
}

const Case kCases[] = {
    {.name = "OneKeyPerQuery"},
    {.name = "GroupedQueries", .kv_heads = 2},
    {.name = "TiedEmbeddings", .kv_heads = 4, .tied_embeddings = true},
    {.name = "ScaledRotation", .kv_heads = 4, .rope_theta = 500000, .rope_scaling = true},
};

INSTANTIATE_TEST_SUITE_P(All, Transformers, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace caravan::numerics
