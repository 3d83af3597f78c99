#include "planner/memory/risk.h"

#include <gtest/gtest.h>

#include "planner/memory/memory_model.h"

namespace caravan::planner {
namespace {

constexpr int64_t kOneGiB = int64_t{1} << 30;

PlanRequest pool() {
  PlanRequest request;
  request.devices.memory_bytes = 80 * kOneGiB;
  return request;
}

EngineProfile profile(std::optional<double> memory_error) {
  EngineProfile engine;
  engine.memory_error = memory_error;
  return engine;
}

int64_t part_of_it(double part) {
  return static_cast<int64_t>(part * static_cast<double>(80 * kOneGiB));
}

TEST(ChanceToFit, IsEvenWhereThePredictionIsTheLimitAndGrowsWithTheRoom) {
  EXPECT_DOUBLE_EQ(chance_to_fit(80 * kOneGiB, pool(), profile(0.03)), 0.5);
  EXPECT_NEAR(chance_to_fit(part_of_it(0.96), pool(), profile(0.03)), 0.918, 0.001);
  EXPECT_NEAR(chance_to_fit(part_of_it(0.9), pool(), profile(0.03)), 0.9999, 0.0001);
  EXPECT_NEAR(chance_to_fit(part_of_it(1.03), pool(), profile(0.03)), 0.166, 0.001);
}

TEST(ChanceToFit, CountsThreePercentUntilSomebodyMeasuredIt) {
  const int64_t peak = part_of_it(0.97);
  EXPECT_EQ(chance_to_fit(peak, pool(), profile(std::nullopt)), chance_to_fit(peak, pool(), profile(0.03)));
  EXPECT_GT(chance_to_fit(peak, pool(), profile(0.01)), chance_to_fit(peak, pool(), profile(0.03)));
}

TEST(ChanceToFit, CountsThreePercentOfFp32OnGpusWhichNobodyMeasured) {
  const int64_t peak = part_of_it(0.97);
  PlanRequest fp32 = pool();
  fp32.training.bf16 = false;
  EXPECT_EQ(chance_to_fit(peak, fp32, profile(0.01)), chance_to_fit(peak, pool(), profile(0.03)));
}

TEST(ChanceToFit, OfAnExactPredictionIsNoQuestion) {
  EXPECT_EQ(chance_to_fit(80 * kOneGiB - 1024, pool(), profile(0)), 1);
  EXPECT_EQ(chance_to_fit(80 * kOneGiB + 1024, pool(), profile(0)), 0);
}

TEST(ChanceToFit, IsOneWhereNobodyKnowsTheMemory) {
  EXPECT_EQ(chance_to_fit(80 * kOneGiB, {}, profile(0.03)), 1);
  EXPECT_EQ(roomy_bytes({}, profile(0.03)), std::nullopt);
}

TEST(RoomyBytes, AreAPeakThatFitsNineteenTimesOfTwenty) {
  for (const double error : {0.01, 0.03, 0.1}) {
    const int64_t peak = roomy_bytes(pool(), profile(error)).value();
    EXPECT_NEAR(chance_to_fit(peak, pool(), profile(error)), 0.95, 1e-4);
  }
}

TEST(SureBytes, AreTheLeastForAPeakThatIsSureToFit) {
  for (const double error : {0.01, 0.03, 0.1}) {
    PlanRequest request = pool();
    request.devices.memory_bytes = sure_bytes(70 * kOneGiB, request, profile(error));
    const double chance = chance_to_fit(70 * kOneGiB, request, profile(error));
    EXPECT_GE(chance, kSureToFit);
    EXPECT_NEAR(chance, kSureToFit, 1e-4);
  }
}

}  // namespace
}  // namespace caravan::planner
