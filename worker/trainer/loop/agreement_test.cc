#include "worker/trainer/loop/agreement.h"

#include <gtest/gtest.h>

#include <future>
#include <limits>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "worker/trainer/comm/testing/fake_communicator.h"

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

// Fake groups of the same ranks by name.
class FakeGroups {
 public:
  std::unique_ptr<Communicator> form(const GroupRequest& request) {
    const std::scoped_lock lock(mutex_);
    auto& members = groups_[request.name];
    if (members.empty()) members = make_fake_group(request.size);
    return std::move(members[static_cast<std::size_t>(request.rank)]);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::vector<std::unique_ptr<Communicator>>> groups_;
};

std::vector<StepVerdict> verdicts(const std::vector<StepShare>& shares, const planner::MeshShape& shape) {
  FakeGroups groups;
  std::vector<StepVerdict> found(shares.size());
  std::vector<std::jthread> ranks;
  for (std::size_t r = 0; r < shares.size(); ++r) {
    ranks.emplace_back([&, r] {
      Mesh mesh = form_mesh(shape, {.head = shape.pipeline - 1}, static_cast<int>(r),
                            [&](const GroupRequest& request) { return groups.form(request); });
      found[r] = Agreement(mesh, shares[r]).wait();
    });
  }
  ranks.clear();
  return found;
}

std::vector<StepVerdict> verdicts(const std::vector<StepShare>& shares) {
  return verdicts(shares, {.pipeline = static_cast<int>(shares.size())});
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

TEST(Agreement, RanksOfAllAxesComeToTheSameBits) {
  std::vector<StepShare> shares(8);
  for (std::size_t r = 0; r < shares.size(); ++r) {
    shares[r] = {.loss_sum = 0.1 * static_cast<double>(r + 1),
                 .squared_gradient_norm = 0.3 / static_cast<double>(r + 1),
                 .stop_after_step = static_cast<int>(100 - r)};
  }
  shares[5].save.progress = SaveProgress::UnderWay;
  const std::vector<StepVerdict> found = verdicts(shares, {.tensor = 2, .data = 2, .pipeline = 2});
  for (const StepVerdict& verdict : found) {
    EXPECT_EQ(verdict.loss_sum, found[0].loss_sum);
    EXPECT_EQ(verdict.gradient_norm, found[0].gradient_norm);
    EXPECT_NEAR(verdict.loss_sum, 3.6, 1e-12);
    EXPECT_EQ(verdict.stop_after_step, 93);
    EXPECT_EQ(verdict.save.under_way, 5);
  }
}

// Nobody waits for the other stages before it asks for the outcome.
TEST(Agreement, IsUnderWayWhileOtherStagesAreStillAtWork) {
  FakeGroups groups;
  std::vector<std::jthread> ranks;
  std::vector<StepVerdict> found(2);
  std::promise<void> second_may_begin;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      Mesh mesh = form_mesh({.pipeline = 2}, {.head = 1}, rank,
                            [&](const GroupRequest& request) { return groups.form(request); });
      if (rank == 1) second_may_begin.get_future().wait();
      Agreement agreement(mesh, {.loss_sum = rank + 1.0});
      if (rank == 0) second_may_begin.set_value();
      found[static_cast<std::size_t>(rank)] = agreement.wait();
    });
  }
  ranks.clear();
  for (const StepVerdict& verdict : found) EXPECT_EQ(verdict.loss_sum, 3);
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
  const std::vector<SaveShare> shares = {{.asks = true, .done = 7},
                                         {.progress = SaveProgress::UnderWay, .done = 5},
                                         {.progress = SaveProgress::Failed},
                                         {.progress = SaveProgress::Failed}};
  for (const SaveVerdict& verdict : on_all_ranks(shares, agree_on_save)) {
    EXPECT_TRUE(verdict.asked);
    EXPECT_EQ(verdict.under_way, 1);
    EXPECT_EQ(verdict.failed_rank, 2);
    EXPECT_EQ(verdict.done, 12);
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
