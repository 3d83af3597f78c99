#include "worker/trainer/cuda/adamw.h"

#include <limits>

#include "worker/trainer/cuda/testing/kernel_test.h"

namespace caravan::cuda {
namespace {

using testing::in_every_order;
using testing::Outputs;
using testing::random_values;
using testing::stored;
using testing::StoredArray;

constexpr double kLearningRate = 1e-2, kBeta1 = 0.9, kBeta2 = 0.95, kEpsilon = 1e-8, kDecay = 0.1;
constexpr std::int64_t kStep = 3;
constexpr float kScale = 0.5F;

// Of some elements of the model.
struct State {
  std::vector<float> weights, gradients, first, second;
};

State random_state(Storage moments, std::int64_t elements) {
  State state{.weights = random_values(Storage::Float32, elements, 1, 0.02F),
              .gradients = random_values(Storage::Float32, elements, 2),
              .first = random_values(moments, elements, 3),
              .second = random_values(moments, elements, 4)};
  for (float& value : state.second) value *= value;
  for (float& value : state.second) value = stored(moments, value);
  return state;
}

State part_of(const State& state, std::int64_t begin, std::int64_t end) {
  const auto cut = [&](const std::vector<float>& values) {
    return std::vector<float>(values.begin() + begin, values.begin() + end);
  };
  return {.weights = cut(state.weights),
          .gradients = cut(state.gradients),
          .first = cut(state.first),
          .second = cut(state.second)};
}

struct Settings {
  Storage moments = Storage::Float32;
  float scale = kScale;
  bool copy = true;
  kernels::ElementNumbers numbers = {};
  std::uint64_t key = 5;
  std::int64_t step = kStep;
  int misaligned = 0;
};

// Weights, gradients, moments and the copy, after an update.
Outputs updated(const State& state, const Settings& settings) {
  const auto elements = static_cast<std::int64_t>(state.weights.size());
  const StoredArray weights(Storage::Float32, state.weights);
  const StoredArray gradients(Storage::Float32, state.gradients, settings.misaligned);
  const StoredArray first(settings.moments, state.first);
  const StoredArray second(settings.moments, state.second);
  const StoredArray copy(Storage::BFloat16, elements);
  testing::expect_launched(adamw({.elements = elements,
                                  .weights = weights.floats(),
                                  .gradients = gradients.floats(),
                                  .moments = settings.moments,
                                  .first_moment = first.data(),
                                  .second_moment = second.data(),
                                  .bf16_weights = settings.copy ? copy.data() : nullptr,
                                  .gradient_scale = settings.scale,
                                  .learning_rate = kLearningRate,
                                  .beta1 = kBeta1,
                                  .beta2 = kBeta2,
                                  .epsilon = kEpsilon,
                                  .weight_decay = kDecay,
                                  .step = settings.step,
                                  .rounding_key = settings.key,
                                  .numbers = settings.numbers},
                                 nullptr));
  return {weights.values(), gradients.values(), first.values(), second.values(), copy.values()};
}

// In fp64, before moments are rounded.
struct Reference {
  explicit Reference(const State& state) {
    for (std::size_t i = 0; i < state.weights.size(); ++i) {
      const double gradient = double{state.gradients[i]} * kScale;
      first.push_back(kBeta1 * state.first[i] + (1 - kBeta1) * gradient);
      second.push_back(kBeta2 * state.second[i] + (1 - kBeta2) * gradient * gradient);
      const double mean = first[i] / (1 - std::pow(kBeta1, kStep));
      const double root = std::sqrt(second[i] / (1 - std::pow(kBeta2, kStep)));
      weights.push_back(state.weights[i] * (1 - kLearningRate * kDecay) -
                        kLearningRate * mean / (root + kEpsilon));
    }
  }

  std::vector<double> weights, first, second;
};

using AdamWKernel = testing::KernelTest;

TEST_F(AdamWKernel, UpdatesRoundsTheCopyAndLeavesTheGradientsZero) {
  for (const std::int64_t elements : {0, 1, 3, 4, 1027, 5000}) {
    for (const int misaligned : {0, 1}) {
      const std::string what = std::to_string(elements) + " misaligned by " + std::to_string(misaligned);
      const State state = random_state(Storage::Float32, elements);
      const Reference reference(state);
      const Outputs outputs =
          in_every_order(what, [&] { return updated(state, {.misaligned = misaligned}); });
      testing::expect_near(outputs[0], reference.weights, {1e-5, 1e-7}, "weights " + what);
      testing::expect_near(outputs[2], reference.first, {1e-5, 1e-7}, "first moments " + what);
      testing::expect_near(outputs[3], reference.second, {1e-5, 1e-7}, "second moments " + what);
      std::vector<float> copy;
      for (const float weight : outputs[0]) copy.push_back(stored(Storage::BFloat16, weight));
      EXPECT_TRUE(testing::same_bits({outputs[1], outputs[4]}, {std::vector<float>(copy.size()), copy}))
          << what;
    }
  }
}

TEST_F(AdamWKernel, MakesTheValuesOfAnUpdateThatIsOnlyTried) {
  for (const std::int64_t elements : {0, 1, 1027}) {
    for (const Storage storage : {Storage::Float32, Storage::BFloat16}) {
      const State state = random_state(Storage::Float32, elements);
      const StoredArray weights(Storage::Float32, state.weights),
          gradients(Storage::Float32, state.gradients), first(Storage::Float32, state.first),
          second(Storage::Float32, state.second);
      const AdamW update{.elements = elements,
                         .weights = weights.floats(),
                         .gradients = gradients.floats(),
                         .moments = Storage::Float32,
                         .first_moment = first.data(),
                         .second_moment = second.data(),
                         .bf16_weights = nullptr,
                         .gradient_scale = kScale,
                         .learning_rate = kLearningRate,
                         .beta1 = kBeta1,
                         .beta2 = kBeta2,
                         .epsilon = kEpsilon,
                         .weight_decay = kDecay,
                         .step = kStep,
                         .rounding_key = 5,
                         .numbers = {}};
      const Outputs tried = in_every_order(std::to_string(elements), [&] {
        const StoredArray values(storage, elements);
        testing::expect_launched(adamw_values(update, storage, values.data(), nullptr));
        return Outputs{values.values()};
      });
      const Outputs before = {weights.values(), gradients.values(), first.values(), second.values()};
      EXPECT_TRUE(testing::same_bits(before, {state.weights, state.gradients, state.first, state.second}))
          << "a trial changes the values alone";
      const Outputs made = updated(state, {});
      EXPECT_TRUE(testing::same_bits(tried, {made[storage == Storage::Float32 ? 0 : 4]}));
    }
  }
}

TEST_F(AdamWKernel, MakesNoCopyWhereNoneIsAskedFor) {
  const State state = random_state(Storage::Float32, 9);
  const Outputs with = updated(state, {});
  const Outputs without = updated(state, {.copy = false});
  EXPECT_TRUE(testing::same_bits({with[0]}, {without[0]}));
  for (const float value : without[4]) EXPECT_TRUE(std::isnan(value)) << "the copy was written";
}

TEST_F(AdamWKernel, LeavesAStepOutWhoseGradientsAreNoNumbers) {
  State state = random_state(Storage::BFloat16, 37);
  state.gradients[5] = std::numeric_limits<float>::quiet_NaN();
  for (const float scale :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const Outputs outputs = updated(state, {.moments = Storage::BFloat16, .scale = scale});
    const Outputs expected = {state.weights, std::vector<float>(37), state.first, state.second};
    EXPECT_TRUE(testing::same_bits({outputs[0], outputs[1], outputs[2], outputs[3]}, expected)) << scale;
  }
}

TEST_F(AdamWKernel, RoundsBf16MomentsUpAsOftenAsTheyAreNear) {
  constexpr std::int64_t kElements = 20'000;
  const State state = random_state(Storage::BFloat16, kElements);
  const Reference reference(state);
  const Outputs outputs =
      in_every_order("bf16", [&] { return updated(state, {.moments = Storage::BFloat16}); });
  testing::expect_near(outputs[0], reference.weights, {1e-5, 1e-7},
                       "weights, from moments before they are rounded");
  for (const auto& [actual, expected] :
       {std::pair(outputs[2], reference.first), std::pair(outputs[3], reference.second)}) {
    testing::expect_near(actual, expected, {1.0 / 128 + 1e-5, 1e-7}, "moments");
    // In units of the distance of two bf16 numbers: errors are spread evenly around zero.
    double error = 0;
    std::int64_t nearest = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double unit = std::ldexp(1.0, std::ilogb(expected[i]) - 7);
      error += (double{actual[i]} - expected[i]) / unit / kElements;
      nearest += actual[i] == stored(Storage::BFloat16, static_cast<float>(expected[i])) ? 1 : 0;
    }
    EXPECT_LT(std::abs(error), 0.02) << "biased; to the nearest would be too, where the changes are small";
    EXPECT_GT(nearest, kElements / 2);
    EXPECT_LT(nearest, kElements * 9 / 10) << "rounded to the nearest, not at random";
  }
}

TEST_F(AdamWKernel, RoundsAnElementTheSameInEveryLayout) {
  constexpr std::int64_t kElements = 203;
  const Settings whole{.moments = Storage::BFloat16, .numbers = {.first = 4'294'967'290}};
  const State state = random_state(Storage::BFloat16, kElements);
  const Outputs outputs = updated(state, whole);
  for (const std::int64_t begin : {1, 2, 3, 4, 102}) {
    Settings part = whole;
    part.numbers.first += begin;
    part.misaligned = static_cast<int>(begin % 4);
    const Outputs rest = updated(part_of(state, begin, kElements), part);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      EXPECT_TRUE(testing::same_bits({{outputs[i].begin() + begin, outputs[i].end()}}, {rest[i]}))
          << "from " << begin;
  }
}

// Columns 3 to 7 of a matrix of 20 columns.
TEST_F(AdamWKernel, RoundsAnElementTheSameWhereRowsAreCut) {
  constexpr std::int64_t kRows = 6, kColumns = 20, kBegin = 3, kPartColumns = 4;
  const State state = random_state(Storage::BFloat16, kRows * kColumns);
  const Outputs outputs = updated(state, {.moments = Storage::BFloat16});
  State part;
  Outputs wanted(outputs.size());
  for (std::int64_t row = 0; row < kRows; ++row) {
    const std::int64_t begin = row * kColumns + kBegin;
    const State piece = part_of(state, begin, begin + kPartColumns);
    const auto append = [](std::vector<float>& to, const std::vector<float>& more) {
      to.insert(to.end(), more.begin(), more.end());
    };
    append(part.weights, piece.weights);
    append(part.gradients, piece.gradients);
    append(part.first, piece.first);
    append(part.second, piece.second);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      append(wanted[i], {outputs[i].begin() + begin, outputs[i].begin() + begin + kPartColumns});
  }
  const kernels::ElementNumbers numbers{.part_columns = kPartColumns, .columns = kColumns, .begin = kBegin};
  EXPECT_TRUE(testing::same_bits(wanted, updated(part, {.moments = Storage::BFloat16, .numbers = numbers})));
}

TEST_F(AdamWKernel, RoundsOtherwiseInEachStepAndForEachTensor) {
  const State state = random_state(Storage::BFloat16, 400);
  const Settings settings{.moments = Storage::BFloat16};
  const Outputs outputs = updated(state, settings);
  Settings other = settings;
  other.key = settings.key + 1;
  EXPECT_FALSE(testing::same_bits({outputs[2]}, {updated(state, other)[2]}));
  other = settings;
  other.step = settings.step + 1;
  EXPECT_FALSE(testing::same_bits({outputs[2]}, {updated(state, other)[2]}))
      << "moments do not depend on the step";
}

TEST_F(AdamWKernel, RefusesAStepBeforeTheFirst) {
  AdamW arguments{};
  arguments.step = 0;
  EXPECT_STREQ(adamw(arguments, nullptr).error, "the first step of an optimizer is number 1");
}

}  // namespace
}  // namespace caravan::cuda
