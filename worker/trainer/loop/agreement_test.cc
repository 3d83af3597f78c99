#include "worker/trainer/loop/agreement.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>
#include <vector>

#include "worker/trainer/comm/fake_communicator.h"

namespace caravan::trainer {
namespace {

// What exchange(group, own value) comes to on each rank.
template <typename Value, typename Exchange>
auto on_all_ranks(const std::vector<Value>& values, Exchange exchange) {
  const auto world = make_fake_group(static_cast<int>(values.size()));
  std::vector<decltype(exchange(*world[0], values[0]))> results(values.size());
  std::vector<std::jthread> ranks;
  for (std::size_t r = 0; r < values.size(); ++r)
    ranks.emplace_back([&, r] { results[r] = exchange(*world[r], values[r]); });
  ranks.clear();
  return results;
}

std::vector<StepVerdict> verdicts(const std::vector<StepShare>& shares) {
  return on_all_ranks(shares, agree);
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

TEST(Agreement, TheFirstRankAsksForACheckpointAndAllSayHowFarTheyAre) {
  const std::vector<SaveShare> shares = {{.asks = true},
                                         {.progress = SaveProgress::UnderWay},
                                         {.progress = SaveProgress::Failed},
                                         {.progress = SaveProgress::Failed}};
  for (const SaveVerdict& verdict : on_all_ranks(shares, agree_on_save)) {
    EXPECT_TRUE(verdict.asked);
    EXPECT_EQ(verdict.under_way, 1);
    EXPECT_EQ(verdict.failed_rank, 2);
  }
  for (const StepVerdict& verdict : verdicts({{.loss_sum = 1}, {.loss_sum = 2, .save = {.asks = true}}})) {
    EXPECT_FALSE(verdict.save.asked);
    EXPECT_FALSE(verdict.save.under_way);
    EXPECT_FALSE(verdict.save.failed_rank);
  }
}

TEST(Agreement, TheLargestIsEverybodys) {
  EXPECT_EQ(on_all_ranks(std::vector<int>{0, 3, 1}, largest), (std::vector<int>{3, 3, 3}));
}

TEST(Agreement, WhatTheFirstRankHasIsEverybodys) {
  const std::vector<int> steps = {1'500'000'000, 7};
  const std::vector<std::vector<int>> known = {steps, {}, {1, 2, 3}};
  EXPECT_EQ(on_all_ranks(known, as_the_first), (std::vector<std::vector<int>>{steps, steps, steps}));
  const std::vector<std::vector<int>> unknown = {{}, {1}};
  EXPECT_EQ(on_all_ranks(unknown, as_the_first), (std::vector<std::vector<int>>{{}, {}}));
}

}  // namespace
}  // namespace caravan::trainer
