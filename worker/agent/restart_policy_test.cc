#include "worker/agent/restart_policy.h"

#include <gmock/gmock.h>

#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using v1alpha1::FailurePolicy;
using v1alpha1::FailureRule;

const TimePoint kNow{std::chrono::hours(100)};

Failure failure(const std::string& reason, std::optional<int> exit_code = std::nullopt,
                bool bad_input = false) {
  return {
      .reason = reason, .rank = 0, .exit_code = exit_code, .bad_input = bad_input, .what = "", .advice = ""};
}

FailureRule rule(FailureRule::Action action, const std::vector<int>& codes, const std::string& reason = "") {
  FailureRule rule;
  rule.set_action(action);
  rule.set_on_reason(reason);
  for (const int code : codes) rule.add_on_exit_codes(code);
  return rule;
}

FailurePolicy policy(int max_restarts, const std::vector<FailureRule>& rules = {}) {
  FailurePolicy policy;
  policy.set_max_restarts(max_restarts);
  for (const FailureRule& rule : rules) *policy.add_rules_list() = rule;
  return policy;
}

TEST(RestartPolicy, RestartsUntilTheLimit) {
  EXPECT_TRUE(decide_restart(policy(2), failure(reasons::kRankFailed, 1), {kNow}, kNow).restart);
  const auto last = decide_restart(policy(2), failure(reasons::kRankFailed, 1), {kNow, kNow}, kNow);
  EXPECT_FALSE(last.restart);
  EXPECT_EQ(last.failed_reason, reasons::kMaxRestartsReached);
  EXPECT_FALSE(decide_restart(policy(0), failure(reasons::kPodLost), {}, kNow).restart);
}

TEST(RestartPolicy, OnlyRestartsWithinTheWindowCount) {
  FailurePolicy with_window = policy(2);
  with_window.set_window_seconds(60);
  const std::vector<TimePoint> restarts = {kNow - seconds(61), kNow - seconds(60), kNow - seconds(1)};
  EXPECT_FALSE(decide_restart(with_window, failure(reasons::kRankFailed), restarts, kNow).restart);
  EXPECT_TRUE(
      decide_restart(with_window, failure(reasons::kRankFailed), restarts, kNow + seconds(1)).restart);
}

TEST(RestartPolicy, WhatWouldFailTheSameWayIsNotTriedAgain) {
  const auto bad_input = decide_restart(policy(10), failure(reasons::kRankFailed, 2, true), {}, kNow);
  EXPECT_FALSE(bad_input.restart);
  EXPECT_EQ(bad_input.failed_reason, reasons::kInvalidSpec);
  const auto loss = decide_restart(policy(10), failure(reasons::kNonFiniteLoss, 1), {}, kNow);
  EXPECT_FALSE(loss.restart);
  EXPECT_EQ(loss.failed_reason, reasons::kNonFiniteLoss);
}

TEST(RestartPolicy, TheFirstRuleThatMatchesDecides) {
  const FailurePolicy rules =
      policy(1, {rule(FailureRule::Fail, {3, 4}), rule(FailureRule::RestartIgnoringLimit, {}, "PodLost"),
                 rule(FailureRule::Restart, {4, 5}), rule(FailureRule::Fail, {5})});
  const std::vector<TimePoint> used_up = {kNow};
  EXPECT_EQ(decide_restart(rules, failure(reasons::kRankFailed, 4), {}, kNow).failed_reason,
            reasons::kFailurePolicyMatched);
  EXPECT_TRUE(decide_restart(rules, failure(reasons::kRankFailed, 5), {}, kNow).restart);
  EXPECT_FALSE(decide_restart(rules, failure(reasons::kRankFailed, 5), used_up, kNow).restart);
  const auto lost = decide_restart(rules, failure(reasons::kPodLost), used_up, kNow);
  EXPECT_TRUE(lost.restart);
  EXPECT_FALSE(lost.counts);
  EXPECT_FALSE(decide_restart(rules, failure(reasons::kRankFailed, 9), used_up, kNow).restart)
      << "no rule: the limit holds";
}

TEST(RestartPolicy, ARuleWithCodesAndReasonNeedsBoth) {
  const FailurePolicy both = policy(10, {rule(FailureRule::Fail, {7}, reasons::kOutOfMemory)});
  EXPECT_FALSE(decide_restart(both, failure(reasons::kOutOfMemory, 7), {}, kNow).restart);
  EXPECT_TRUE(decide_restart(both, failure(reasons::kRankFailed, 7), {}, kNow).restart);
  EXPECT_TRUE(decide_restart(both, failure(reasons::kOutOfMemory), {}, kNow).restart);
}

TEST(RestartPolicy, ARuleCanAskForWhatIsNotTriedOtherwise) {
  const FailurePolicy again = policy(10, {rule(FailureRule::Restart, {}, reasons::kNonFiniteLoss)});
  EXPECT_TRUE(decide_restart(again, failure(reasons::kNonFiniteLoss, 1), {}, kNow).restart);
}

TEST(RestartPolicy, NoRuleOverrulesTheDeadline) {
  const FailurePolicy always = policy(10, {rule(FailureRule::RestartIgnoringLimit, {})});
  const auto decision = decide_restart(always, failure(reasons::kDeadlineExceeded), {}, kNow);
  EXPECT_FALSE(decision.restart);
  EXPECT_EQ(decision.failed_reason, reasons::kDeadlineExceeded);
}

TEST(RestartDelay, DoublesUpToTenSeconds) {
  EXPECT_EQ(restart_delay(0), milliseconds(0));
  EXPECT_EQ(restart_delay(1), milliseconds(500));
  EXPECT_EQ(restart_delay(2), milliseconds(1000));
  EXPECT_EQ(restart_delay(5), milliseconds(8000));
  EXPECT_EQ(restart_delay(6), milliseconds(10000));
  EXPECT_EQ(restart_delay(1000), milliseconds(10000));
}

}  // namespace
}  // namespace caravan::agent
