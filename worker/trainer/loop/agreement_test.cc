#include "worker/trainer/loop/agreement.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>
#include <vector>

#include "worker/trainer/comm/fake_communicator.h"

namespace caravan::trainer {
namespace {

std::vector<StepVerdict> verdicts(const std::vector<StepShare>& shares) {
  const auto world = make_fake_group(static_cast<int>(shares.size()));
  std::vector<StepVerdict> verdicts(shares.size());
  std::vector<std::jthread> ranks;
  for (std::size_t r = 0; r < shares.size(); ++r)
    ranks.emplace_back([&, r] { verdicts[r] = agree(*world[r], shares[r]); });
  ranks.clear();
  return verdicts;
}

TEST(Agreement, AllRanksLearnTheSumsAndTheEarliestStop) {
  for (const StepVerdict& verdict :
       verdicts({{.loss_sum = 1, .squared_gradient_norm = 9},
                 {.loss_sum = 2, .squared_gradient_norm = 16, .stop_after_step = 7},
                 {.stop_after_step = 9}})) {
    EXPECT_EQ(verdict.loss_sum, 3);
    EXPECT_EQ(verdict.gradient_norm, 5);
    EXPECT_EQ(verdict.stop_after_step, 7);
    EXPECT_TRUE(verdict.finite());
  }
}

TEST(Agreement, OneRanksInfinityIsEverybodys) {
  for (const StepVerdict& verdict :
       verdicts({{}, {.squared_gradient_norm = std::numeric_limits<double>::infinity()}}))
    EXPECT_FALSE(verdict.finite());
}

TEST(Agreement, NobodyAskedToStop) {
  for (const StepVerdict& verdict : verdicts({{}, {}})) EXPECT_EQ(verdict.stop_after_step, kNoStop);
}

}  // namespace
}  // namespace caravan::trainer
