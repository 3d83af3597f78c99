#include "policy/failure_policy.h"

#include <gtest/gtest.h>

#include <vector>

#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::policy {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using v1alpha1::FailurePolicy;
using v1alpha1::FailureRule;

constexpr Time kNow = std::chrono::hours(100);

FailureRule rule(FailureRule::Action action, const std::vector<int>& codes, const std::string& reason = "") {
  FailureRule rule;
  rule.set_action(action);
  rule.set_on_reason(reason);
  for (const int code : codes) rule.add_on_exit_codes(code);
  return rule;
}

FailurePolicy policy(int max_restarts, const std::vector<FailureRule>& rules = {}, int window_seconds = 0) {
  FailurePolicy policy;
  policy.set_max_restarts(max_restarts);
  policy.set_window_seconds(window_seconds);
  for (const FailureRule& rule : rules) *policy.add_rules_list() = rule;
  return policy;
}

Budget used(int restarts) {
  return {.used = restarts, .window_start = kNow};
}

Decision decide_now(const FailurePolicy& policy, const std::string& reason,
                    std::optional<int> exit_code = std::nullopt, int restarts = 0) {
  return decide(policy, {.reason = reason, .exit_code = exit_code}, used(restarts), kNow);
}

TEST(FailurePolicy, RestartsUntilTheLimit) {
  EXPECT_EQ(decide_now(policy(2), reasons::kRankFailed, 1, 1).next, "restarting (2 of 2 restarts)");
  const Decision last = decide_now(policy(2), reasons::kRankFailed, 1, 2);
  EXPECT_FALSE(last.restart);
  EXPECT_EQ(last.failed_reason, reasons::kMaxRestartsReached);
  EXPECT_FALSE(decide_now(policy(0), reasons::kPodLost).restart);
  EXPECT_TRUE(decide_now({}, reasons::kPodLost, {}, 9).restart) << "ten are the default";
  EXPECT_FALSE(decide_now({}, reasons::kPodLost, {}, 10).restart);
}

TEST(FailurePolicy, APodThatHadToGoCostsNothingUnlessARuleSaysSo) {
  const Decision decision = decide_now(policy(0), reasons::kPreempted);
  EXPECT_TRUE(decision.restart);
  EXPECT_FALSE(decision.counts);
  EXPECT_TRUE(
      decide_now(policy(1, {rule(FailureRule::Restart, {}, reasons::kPreempted)}), reasons::kPreempted)
          .counts);
  EXPECT_FALSE(
      decide_now(policy(1, {rule(FailureRule::Fail, {}, reasons::kPreempted)}), reasons::kPreempted).restart);
}

TEST(FailurePolicy, AWindowBeginsWithTheFirstRestartAndAnewAfterItsEnd) {
  const FailurePolicy with_window = policy(2, {}, 60);
  Budget budget;
  count_restart(with_window, kNow, budget);
  count_restart(with_window, kNow + seconds(60), budget);
  EXPECT_EQ(used_restarts(with_window, budget, kNow + seconds(60)), 2);
  EXPECT_FALSE(decide_by_budget(with_window, budget, kNow + seconds(60)).restart);
  EXPECT_EQ(used_restarts(with_window, budget, kNow + seconds(61)), 0);
  EXPECT_TRUE(decide_by_budget(with_window, budget, kNow + seconds(61)).restart);
  count_restart(with_window, kNow + seconds(61), budget);
  EXPECT_EQ(used_restarts(with_window, budget, kNow + seconds(121)), 1);
}

TEST(FailurePolicy, WithoutAWindowAllCount) {
  Budget budget;
  for (int i = 0; i < 3; ++i) count_restart(policy(3), kNow + i * std::chrono::hours(1000), budget);
  EXPECT_EQ(used_restarts(policy(3), budget, kNow + std::chrono::hours(9000)), 3);
}

TEST(FailurePolicy, WhatWouldFailTheSameWayIsNotTriedAgain) {
  const Decision input =
      decide(policy(10), {.reason = reasons::kRankFailed, .exit_code = 2, .bad_input = true}, {}, kNow);
  EXPECT_FALSE(input.restart);
  EXPECT_EQ(input.failed_reason, reasons::kInvalidSpec);
  EXPECT_EQ(decide_now(policy(10), reasons::kNonFiniteLoss, 1).failed_reason, reasons::kNonFiniteLoss);
}

TEST(FailurePolicy, TheFirstRuleThatMatchesDecides) {
  const FailurePolicy rules =
      policy(1, {rule(FailureRule::Fail, {3, 4}), rule(FailureRule::RestartIgnoringLimit, {}, "PodLost"),
                 rule(FailureRule::Restart, {4, 5}), rule(FailureRule::Fail, {5})});
  EXPECT_EQ(decide_now(rules, reasons::kRankFailed, 4).failed_reason, reasons::kFailurePolicyMatched);
  EXPECT_EQ(decide_now(rules, reasons::kPodLost, 4).failed_reason, reasons::kFailurePolicyMatched)
      << "the exit code of a pod is one, too";
  EXPECT_TRUE(decide_now(rules, reasons::kRankFailed, 5).restart);
  EXPECT_FALSE(decide_now(rules, reasons::kRankFailed, 5, 1).restart);
  const Decision lost = decide_now(rules, reasons::kPodLost, {}, 1);
  EXPECT_TRUE(lost.restart);
  EXPECT_FALSE(lost.counts);
  EXPECT_EQ(lost.next, "restarting, not counted (failurePolicy.rules[1])");
  EXPECT_FALSE(decide_now(rules, reasons::kRankFailed, 9, 1).restart) << "no rule: the limit holds";
}

TEST(FailurePolicy, ARuleWithCodesAndReasonNeedsBoth) {
  const FailurePolicy both = policy(10, {rule(FailureRule::Fail, {7}, reasons::kOutOfMemory)});
  EXPECT_FALSE(decide_now(both, reasons::kOutOfMemory, 7).restart);
  EXPECT_TRUE(decide_now(both, reasons::kRankFailed, 7).restart);
  EXPECT_TRUE(decide_now(both, reasons::kOutOfMemory).restart);
}

TEST(FailurePolicy, ARuleCanAskForWhatIsNotTriedOtherwise) {
  const FailurePolicy again = policy(10, {rule(FailureRule::Restart, {}, reasons::kNonFiniteLoss)});
  EXPECT_TRUE(decide_now(again, reasons::kNonFiniteLoss, 1).restart);
}

TEST(FailurePolicy, NoRuleOverrulesTheDeadline) {
  const FailurePolicy always = policy(10, {rule(FailureRule::RestartIgnoringLimit, {})});
  EXPECT_EQ(decide_now(always, reasons::kDeadlineExceeded).failed_reason, reasons::kDeadlineExceeded);
}

TEST(ShortAttempts, AStepAndTenMinutesEndARow) {
  EXPECT_EQ(short_attempts_after(0, true, seconds(599)), 1);
  EXPECT_EQ(short_attempts_after(4, true, seconds(1)), 5);
  EXPECT_EQ(short_attempts_after(4, true, seconds(600)), 0);
  EXPECT_EQ(short_attempts_after(4, false, std::chrono::hours(2)), 5) << "it hung before its first step";
}

TEST(PauseBeforeRestart, DoublesUpToFiveMinutes) {
  EXPECT_EQ(pause_before_restart(-1), milliseconds(0));
  EXPECT_EQ(pause_before_restart(0), milliseconds(0));
  EXPECT_EQ(pause_before_restart(1), milliseconds(0));
  EXPECT_EQ(pause_before_restart(2), milliseconds(500));
  EXPECT_EQ(pause_before_restart(3), milliseconds(1000));
  EXPECT_EQ(pause_before_restart(11), milliseconds(256'000));
  EXPECT_EQ(pause_before_restart(12), milliseconds(300'000));
  EXPECT_EQ(pause_before_restart(1'000'000), milliseconds(300'000));
}

}  // namespace
}  // namespace caravan::policy
