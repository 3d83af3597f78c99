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
  const RunProgress counted_by_the_coordinator{.budget = {.used = 1}};
  EXPECT_EQ(judge(lost, counted_by_the_coordinator, at_most(1)).action, Action::kStartAgain);
}

TEST(AgentExitPolicy, ANodeThatDiesOverAndOverEndsTheJob) {
  const AgentExit lost{.node = 1, .status = kKilled};
  EXPECT_EQ(judge(lost, {.lost_agents = {.used = 3}}, at_most(3)).action, Action::kFail);
}

TEST(AgentExitPolicy, LossesOfANodeThatLieFurtherApartThanTheWindowNeverEndTheJob) {
  v1alpha1::FailurePolicy policy = at_most(2);
  policy.set_window_seconds(60);
  const AgentExit lost{.node = 1, .status = kKilled};
  RunProgress progress;
  for (policy::Time now{0}; now < std::chrono::hours(5); now += std::chrono::hours(1)) {
    const AgentVerdict verdict = judge_agent_exit(lost, progress, policy, now);
    EXPECT_EQ(verdict.action, Action::kStartAgain) << verdict.message;
    count_lost_agent(lost, verdict, policy, now, progress);
  }
  const policy::Time soon = std::chrono::hours(4) + std::chrono::seconds(1);
  count_lost_agent(lost, judge_agent_exit(lost, progress, policy, soon), policy, soon, progress);
  EXPECT_EQ(judge_agent_exit(lost, progress, policy, soon).action, Action::kFail);
}

TEST(AgentExitPolicy, AttemptsThatEndWithTheirAgentSoonAfterAStepAreARow) {
  const v1alpha1::FailurePolicy policy = with_rule("PodLost", v1alpha1::FailureRule::RestartIgnoringLimit);
  for (const int node : {0, 1}) {
    const AgentExit lost{.node = node, .status = kKilled};
    RunProgress progress;
    for (int row = 1; row < 5; ++row) {
      progress.attempt_since = std::chrono::minutes(row);
      progress.made_step = true;
      const policy::Time now = std::chrono::minutes(row) + std::chrono::seconds(3);
      count_lost_agent(lost, judge_agent_exit(lost, progress, policy, now), policy, now, progress);
      EXPECT_EQ(progress.short_attempts, row) << "node " << node;
    }
    count_lost_agent(lost, {}, policy, std::chrono::minutes(9), progress);
    EXPECT_EQ(progress.short_attempts, 5) << "it died before the gang ran again";
    progress.attempt_since = std::chrono::minutes(10);
    progress.made_step = true;
    count_lost_agent(lost, {}, policy, std::chrono::minutes(20), progress);
    EXPECT_EQ(progress.short_attempts, 0);
  }
}

TEST(AgentExitPolicy, AnAgentThatWasToldToEndIsStartedAgainHoweverOften) {
  const AgentExit left{.node = 1, .status = {.exit_code = static_cast<int>(ExitCode::kLeft)}};
  RunProgress progress;
  for (int time = 0; time < 3; ++time) {
    const AgentVerdict verdict = judge(left, progress, at_most(0));
    EXPECT_EQ(verdict.action, Action::kStartAgain) << verdict.message;
    EXPECT_EQ(verdict.reason, "Preempted");
    count_lost_agent(left, verdict, at_most(0), std::chrono::hours(1), progress);
  }
  EXPECT_EQ(progress.lost_agents.used, 0);
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
