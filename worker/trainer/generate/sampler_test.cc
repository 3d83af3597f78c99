#include "worker/trainer/generate/sampler.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace caravan::trainer {
namespace {

TEST(Sampler, WithoutTemperatureTakesTheLargestAndOfEqualOnesTheFirst) {
  Sampler greedy(0, 1);
  EXPECT_EQ(greedy.choose(std::vector{-1.0F, 3.0F, 2.0F, 3.0F}).value(), 1);
  EXPECT_EQ(greedy.choose(std::vector{-5.0F}).value(), 0);
}

TEST(Sampler, DrawsByTheSoftmaxOfLogitsOverTemperature) {
  const std::vector logits{0.0F, 1.0F, 2.0F, -200.0F};
  for (const double temperature : {0.5, 1.0, 2.0}) {
    Sampler sampler(temperature, 9);
    constexpr int kDraws = 100'000;
    std::array<int, 4> counts{};
    for (int i = 0; i < kDraws; ++i) ++counts[static_cast<std::size_t>(sampler.choose(logits).value())];
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit) / temperature);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const double expected = std::exp(static_cast<double>(logits[i]) / temperature) / sum;
      EXPECT_NEAR(counts[i] / static_cast<double>(kDraws), expected, 0.006) << temperature << " " << i;
    }
    EXPECT_EQ(counts[3], 0);
  }
}

TEST(Sampler, ASeedGivesTheSameTokensAgain) {
  const std::vector<float> logits(50, 1.0F);
  const auto drawn = [&](uint64_t seed) {
    Sampler sampler(1, seed);
    std::vector<int64_t> tokens;
    for (int i = 0; i < 20; ++i) tokens.push_back(sampler.choose(logits).value());
    return tokens;
  };
  EXPECT_EQ(drawn(3), drawn(3));
  EXPECT_NE(drawn(3), drawn(4));
}

TEST(Sampler, ChoosesNothingAmongWhatIsNoNumber) {
  for (const float wrong : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    for (const double temperature : {0.0, 1.0}) {
      const auto chosen = Sampler(temperature, 1).choose(std::vector{1.0F, wrong, 2.0F});
      ASSERT_FALSE(chosen) << wrong;
      EXPECT_EQ(chosen.error().code, ExitCode::kBadInput);
      EXPECT_EQ(chosen.error().message, "the model gives no numbers: its weights hold NaN or infinity");
    }
  }
}

}  // namespace
}  // namespace caravan::trainer
