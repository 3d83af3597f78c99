#include "cli/run/agent_exit_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace caravan::cli {
namespace {

using testing::HasSubstr;
using Action = AgentVerdict::Action;

constexpr ExitStatus kKilled{.exit_code = -1, .signal = SIGKILL};

v1alpha1::FailurePolicy at_most(int restarts) {
  v1alpha1::FailurePolicy policy;
  policy.set_max_restarts(restarts);
  return policy;
}

v1alpha1::FailurePolicy with_rule(const std::string& reason, v1alpha1::FailureRule::Action action) {
  v1alpha1::FailurePolicy policy = at_most(0);
  v1alpha1::FailureRule& rule = *policy.add_rules_list();
  rule.set_on_reason(reason);
  rule.set_action(action);
  return policy;
}

AgentVerdict judge(const AgentExit& exit, const RunProgress& progress,
                   const v1alpha1::FailurePolicy& policy) {
  return judge_agent_exit(exit, progress, policy, std::chrono::hours(1));
}

TEST(AgentExitPolicy, ALostCoordinatorIsStartedAgainAndCounted) {
  const AgentVerdict verdict =
      judge({.node = 0, .status = kKilled}, {.budget = {.used = 2}, .last_attempt = 3}, at_most(3));
  EXPECT_EQ(verdict.action, Action::kStartAgain);
  EXPECT_TRUE(verdict.restarts);
  EXPECT_TRUE(verdict.counts);
  EXPECT_EQ(verdict.reason, "PodLost");
  EXPECT_THAT(verdict.message, HasSubstr("node 0 ended with signal 9 (SIGKILL)"));
  EXPECT_THAT(verdict.message, HasSubstr("attempt 4"));
}

TEST(AgentExitPolicy, AnotherNodeIsStartedAgainAndCountedByTheCoordinator) {
  const AgentVerdict verdict =
      judge({.node = 1, .status = kKilled}, {.budget = {.used = 2}, .last_attempt = 3}, at_most(3));
  EXPECT_EQ(verdict.action, Action::kStartAgain);
  EXPECT_FALSE(verdict.restarts);
  EXPECT_FALSE(verdict.counts);
}

TEST(AgentExitPolicy, TheJobFailsWhenTheRestartsAreUsedUp) {
  const AgentVerdict verdict = judge({.node = 0, .status = kKilled}, {.budget = {.used = 3}}, at_most(3));
  EXPECT_EQ(verdict.action, Action::kFail);
  EXPECT_EQ(verdict.reason, "MaxRestartsReached");
  EXPECT_THAT(verdict.message, HasSubstr("SIGKILL"));
  EXPECT_THAT(verdict.message, HasSubstr("3 of 3 restarts are used up"));
}

TEST(AgentExitPolicy, AnotherNodeMayCostTheLastRestart) {
  const AgentExit lost{.node = 1, .status = kKilled};
  const RunProgress counted_by_the_coordinator{.budget = {.used = 1}, .agents_lost = 0};
  EXPECT_EQ(judge(lost, counted_by_the_coordinator, at_most(1)).action, Action::kStartAgain);
}

TEST(AgentExitPolicy, ANodeThatDiesOverAndOverEndsTheJob) {
  const AgentExit lost{.node = 1, .status = kKilled};
  EXPECT_EQ(judge(lost, {.agents_lost = 3}, at_most(3)).action, Action::kFail);
}

TEST(AgentExitPolicy, TheFirstRuleForLostPodsDecides) {
  const AgentExit lost{.node = 0, .status = kKilled};
  EXPECT_EQ(judge(lost, {}, with_rule("PodLost", v1alpha1::FailureRule::Fail)).reason,
            "FailurePolicyMatched");
  const AgentVerdict ignoring =
      judge(lost, {.budget = {.used = 5}}, with_rule("PodLost", v1alpha1::FailureRule::RestartIgnoringLimit));
  EXPECT_EQ(ignoring.action, Action::kStartAgain);
  EXPECT_TRUE(ignoring.restarts);
  EXPECT_FALSE(ignoring.counts);
  EXPECT_EQ(judge(lost, {}, with_rule("RankFailed", v1alpha1::FailureRule::RestartIgnoringLimit)).action,
            Action::kFail);
}

TEST(AgentExitPolicy, ARuleForExitCodesHoldsForTheAgentOfNodeZero) {
  v1alpha1::FailurePolicy policy = at_most(3);
  v1alpha1::FailureRule& rule = *policy.add_rules_list();
  rule.add_on_exit_codes(128 + SIGKILL);
  rule.set_action(v1alpha1::FailureRule::Fail);
  EXPECT_EQ(judge({.node = 0, .status = kKilled}, {}, policy).reason, "FailurePolicyMatched");
  EXPECT_EQ(judge({.node = 1, .status = kKilled}, {}, policy).action, Action::kStartAgain)
      << "the coordinator judges it, and does not know its exit code";
}

TEST(AgentExitPolicy, AnotherNodeThatSomebodyToldToStopIsLost) {
  const ExitStatus told_to_stop{.exit_code = 130, .signal = 0};
  const AgentVerdict verdict = judge({.node = 1, .status = told_to_stop}, {}, at_most(3));
  EXPECT_EQ(verdict.action, Action::kStartAgain);
  EXPECT_THAT(verdict.message, HasSubstr("node 1 ended with exit code 130"));
  EXPECT_EQ(judge({.node = 0, .status = told_to_stop}, {}, at_most(3)).action, Action::kFail);
}

TEST(AgentExitPolicy, AnAgentThatGivesUpByItselfIsNotStartedAgain) {
  const ExitStatus gave_up{.exit_code = 2, .signal = 0};
  EXPECT_EQ(judge({.node = 0, .status = gave_up}, {}, at_most(3)).action, Action::kFail);
  EXPECT_EQ(judge({.node = 1, .status = gave_up}, {}, at_most(3)).action, Action::kAwaitResult);
}

TEST(AgentExitPolicy, AfterTheEndOfTheJobEveryEndIsExpected) {
  EXPECT_EQ(judge({.node = 0, .status = kKilled}, {.job_over = true}, at_most(3)).action, Action::kExpected);
}

}  // namespace
}  // namespace caravan::cli
