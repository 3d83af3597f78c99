#include "cli/run/agent_exit_policy.h"

#include <fmt/format.h>

#include <algorithm>

#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::cli {
namespace {

using v1alpha1::FailureRule;
using Action = AgentVerdict::Action;

// The first rule that matches decides; none: restart.
FailureRule::Action action_for_lost_node(const v1alpha1::FailurePolicy& policy) {
  const auto& rules = policy.rules_list();
  const auto matches = [](const FailureRule& rule) { return rule.on_reason() == reasons::kPodLost; };
  const auto rule = std::find_if(rules.begin(), rules.end(), matches);
  return rule == rules.end() ? FailureRule::Restart : rule->action();
}

AgentVerdict fail(std::string reason, std::string message, const RunProgress& progress) {
  return {.action = Action::kFail,
          .restarts = progress.restarts,
          .reason = std::move(reason),
          .message = std::move(message)};
}

AgentVerdict judge_lost_node(const AgentExit& exit, const std::string& what, const RunProgress& progress,
                             const v1alpha1::FailurePolicy& policy) {
  const FailureRule::Action action = action_for_lost_node(policy);
  if (action == FailureRule::Fail) {
    return fail(reasons::kFailurePolicyMatched, what + "; the failure policy says to fail then", progress);
  }
  const bool counts = action != FailureRule::RestartIgnoringLimit;
  const bool with_coordinator = exit.node == 0;
  const int limit = policy.max_restarts();
  // The coordinator keeps the budget of the others; a node that dies before it joins never gets there.
  const int used = with_coordinator ? progress.restarts : progress.agents_lost;
  if (counts && used >= limit) {
    return fail(reasons::kMaxRestartsReached,
                fmt::format("{}, and the {} restarts of failurePolicy.maxRestarts are used up", what, limit),
                progress);
  }
  const std::string next =
      with_coordinator ? fmt::format("; it is started again, for attempt {}", progress.last_attempt + 1)
                       : "; it is started again and joins the next attempt";
  return {.action = Action::kStartAgain,
          .restarts = progress.restarts + (with_coordinator && counts ? 1 : 0),
          .reason = reasons::kPodLost,
          .message = what + next};
}

}  // namespace

AgentVerdict judge_agent_exit(const AgentExit& exit, const RunProgress& progress,
                              const v1alpha1::FailurePolicy& policy) {
  if (progress.job_over)
    return {.action = Action::kExpected, .restarts = progress.restarts, .reason = {}, .message = {}};
  const std::string what =
      fmt::format("the agent of node {} ended with {}", exit.node, to_string(exit.status));
  if (exit.status.signal != 0) return judge_lost_node(exit, what, progress, policy);
  const bool tells_results = exit.node == 0;
  const bool was_told_to_stop = exit.status.exit_code == static_cast<int>(ExitCode::kInterrupted);
  if (was_told_to_stop && !tells_results) return judge_lost_node(exit, what, progress, policy);
  if (tells_results) return fail(reasons::kAgentFailed, what + " before the job was over", progress);
  // The end of the job may have reached this node before its result reached us.
  return {.action = Action::kAwaitResult,
          .restarts = progress.restarts,
          .reason = reasons::kAgentFailed,
          .message = what};
}

}  // namespace caravan::cli
