#include "worker/trainer/cuda/cross_entropy.h"

#include <limits>

#include "common/testing/turn.h"
#include "worker/trainer/cuda/testing/kernel_test.h"
#include "worker/trainer/kernels/cross_entropy_statistics.h"

namespace caravan::cuda {
namespace {

using kernels::kMaximum;
using kernels::kStatistics;
using kernels::kSum;
using kernels::kTarget;
using testing::DeviceArray;
using testing::in_every_order;
using testing::Outputs;
using testing::random_values;
using testing::rounded_once;
using testing::StoredArray;

constexpr float kScale = 0.25F;
constexpr std::int64_t kIgnored = -100;

struct Shape {
  Storage storage;
  std::int64_t tokens, vocabulary;
  std::vector<std::int64_t> cuts;  // of the vocabulary, where the parts of the ranks after the first begin
  int misaligned = 0;

  std::string name() const {
    return testing::name_of(storage) + " " + std::to_string(tokens) + " x " + std::to_string(vocabulary) +
           " in " + std::to_string(cuts.size() + 1) + " parts" + (misaligned != 0 ? " misaligned" : "");
  }
};

const std::vector<Shape> kShapes = {
    {Storage::Float32, 3, 1000, {}},     {Storage::Float32, 4, 999, {333, 700}},
    {Storage::Float32, 2, 4099, {}, 3},  {Storage::Float32, 5, 7, {7}},
    {Storage::Float32, 3, 1, {}},        {Storage::Float32, 1100, 3, {}},
    {Storage::BFloat16, 3, 1003, {501}}, {Storage::BFloat16, 2, 8200, {}},
    {Storage::BFloat16, 2, 65, {}, 5},   {Storage::BFloat16, 0, 100, {}},
};

struct Inputs {
  explicit Inputs(const Shape& shape)
      : logits(random_values(shape.storage, shape.tokens * shape.vocabulary, 1, 3)) {
    for (std::int64_t token = 0; token < shape.tokens; ++token)
      targets.push_back(token % 3 == 1 ? kIgnored : token * 7919 % shape.vocabulary);
  }

  std::vector<float> logits;
  std::vector<std::int64_t> targets;
};

// What one rank of the group has.
class Part {
 public:
  Part(const Shape& shape, const Inputs& inputs, std::int64_t begin, std::int64_t end)
      : logits_(shape.storage, columns(shape, inputs, begin, end), shape.misaligned),
        targets_(inputs.targets),
        statistics_(Storage::Float32, kStatistics * shape.tokens),
        chunk_{.storage = shape.storage,
               .tokens = shape.tokens,
               .vocabulary = end - begin,
               .first_token = begin,
               .logits = logits_.data(),
               .targets = targets_.data(),
               .statistics = statistics_.floats()} {}

  const CrossEntropyChunk& chunk() const { return chunk_; }
  std::vector<float> logits() const { return logits_.values(); }
  std::vector<float> statistics() const { return statistics_.values(); }
  void set_statistics(const std::vector<float>& values) {
    testing::copy_to_device(statistics_.data(), values.data(), values.size() * sizeof(float));
  }

 private:
  static std::vector<float> columns(const Shape& shape, const Inputs& inputs, std::int64_t begin,
                                    std::int64_t end) {
    std::vector<float> part;
    for (std::int64_t token = 0; token < shape.tokens; ++token) {
      const auto row = inputs.logits.begin() + token * shape.vocabulary;
      part.insert(part.end(), row + begin, row + end);
    }
    return part;
  }

  StoredArray logits_;
  DeviceArray<std::int64_t> targets_;
  StoredArray statistics_;
  CrossEntropyChunk chunk_;
};

using Parts = std::vector<std::unique_ptr<Part>>;

// All-reduces one row of the statistics.
template <typename Combine>
void all_reduce(const Parts& parts, std::int64_t row, Combine combine) {
  const auto tokens = static_cast<std::size_t>(parts[0]->chunk().tokens);
  std::vector<float> result;
  for (const auto& part : parts) {
    const std::vector<float> statistics = part->statistics();
    const auto begin =
        statistics.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * tokens);
    const std::vector<float> values(begin, begin + static_cast<std::ptrdiff_t>(tokens));
    if (result.empty()) result = values;
    for (std::size_t token = 0; &part != &parts[0] && token < tokens; ++token)
      result[token] = combine(result[token], values[token]);
  }
  for (const auto& part : parts) {
    std::vector<float> statistics = part->statistics();
    std::ranges::copy(
        result, statistics.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * tokens));
    part->set_statistics(statistics);
  }
}

Parts parts_of(const Shape& shape, const Inputs& inputs) {
  Parts parts;
  std::int64_t begin = 0;
  std::vector<std::int64_t> ends = shape.cuts;
  ends.push_back(shape.vocabulary);
  for (const std::int64_t end : ends) {
    parts.push_back(std::make_unique<Part>(shape, inputs, begin, end));
    begin = end;
  }
  return parts;
}

// Statistics and loss of the first rank, then the gradients of all.
Outputs run(const Shape& shape, const Inputs& inputs) {
  const Parts parts = parts_of(shape, inputs);
  for (const auto& part : parts) testing::expect_launched(cross_entropy_maxima(part->chunk(), nullptr));
  all_reduce(parts, kMaximum, [](float a, float b) { return std::max(a, b); });
  for (const auto& part : parts) testing::expect_launched(cross_entropy_sums(part->chunk(), nullptr));
  all_reduce(parts, kSum, std::plus<>());
  all_reduce(parts, kTarget, std::plus<>());
  const DeviceArray<double> loss(std::vector<double>{1});
  testing::expect_launched(cross_entropy_loss(parts[0]->chunk(), loss.data(), nullptr));
  for (const auto& part : parts)
    testing::expect_launched(cross_entropy_gradient(part->chunk(), kScale, nullptr));
  Outputs outputs{parts[0]->statistics(), {static_cast<float>(loss.values()[0])}};
  for (const auto& part : parts) outputs.push_back(part->logits());
  return outputs;
}

struct Reference {
  Reference(const Shape& shape, const Inputs& inputs) : gradient(inputs.logits.size()) {
    for (std::int64_t token = 0; token < shape.tokens; ++token) {
      const float* const row = inputs.logits.data() + token * shape.vocabulary;
      const std::int64_t target = inputs.targets[static_cast<std::size_t>(token)];
      double sum = 0;
      for (std::int64_t i = 0; i < shape.vocabulary; ++i) sum += std::exp(double{row[i]});
      if (target < 0) continue;
      loss += std::log(sum) - row[target];
      for (std::int64_t i = 0; i < shape.vocabulary; ++i)
        gradient[static_cast<std::size_t>(token * shape.vocabulary + i)] =
            kScale * (std::exp(double{row[i]}) / sum - (i == target ? 1 : 0));
    }
  }

  double loss = 1;  // what was there before
  std::vector<double> gradient;
};

// The gradients of the parts as one matrix.
std::vector<float> joined(const Shape& shape, const Outputs& outputs) {
  std::vector<float> whole;
  for (std::int64_t token = 0; token < shape.tokens; ++token) {
    for (std::size_t part = 2; part < outputs.size(); ++part) {
      const std::int64_t columns = static_cast<std::int64_t>(outputs[part].size()) / shape.tokens;
      const auto row = outputs[part].begin() + token * columns;
      whole.insert(whole.end(), row, row + columns);
    }
  }
  return whole;
}

using CrossEntropyKernels = testing::KernelTest;

TEST_F(CrossEntropyKernels, GiveLossAndGradientOfAVocabularyInParts) {
  CARAVAN_BY_TURNS();
  for (const Shape& shape : kShapes) {
    const Inputs inputs(shape);
    const Reference reference(shape, inputs);
    const Outputs outputs = in_every_order(shape.name(), [&] { return run(shape, inputs); });
    testing::expect_near(outputs[1], {reference.loss}, {1e-5, 1e-5}, "loss " + shape.name());
    testing::expect_near(joined(shape, outputs), reference.gradient, rounded_once(shape.storage, 1e-7),
                         "gradient " + shape.name());
  }
}

TEST_F(CrossEntropyKernels, LogitsThatAreNoNumbersMakeTheLossNone) {
  const Shape shape{.storage = Storage::Float32, .tokens = 1, .vocabulary = 40, .cuts = {}};
  for (const float wrong :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Inputs inputs(shape);
    inputs.logits[17] = wrong;
    EXPECT_FALSE(std::isfinite(run(shape, inputs)[1][0])) << wrong;
  }
}

TEST_F(CrossEntropyKernels, LogitsOfMinusInfinityHaveNoProbability) {
  const Shape shape{.storage = Storage::Float32, .tokens = 1, .vocabulary = 8, .cuts = {4}};
  Inputs inputs(shape);
  for (std::size_t i = 4; i < 8; ++i) inputs.logits[i] = -std::numeric_limits<float>::infinity();
  const Reference reference(shape, inputs);
  const Outputs outputs = run(shape, inputs);
  testing::expect_near(outputs[1], {reference.loss}, {1e-5, 1e-5}, "loss");
  testing::expect_near(joined(shape, outputs), reference.gradient, {1e-5, 1e-7}, "gradient");
}

}  // namespace
}  // namespace caravan::cuda
