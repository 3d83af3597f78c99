#include "cli/run/agent_exit_policy.h"

#include <fmt/format.h>

#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::cli {
namespace {

using Action = AgentVerdict::Action;

bool ended_with(const AgentExit& exit, ExitCode code) {
  return exit.status.exit_code == static_cast<int>(code);
}

AgentVerdict fail(std::string reason, std::string message) {
  return {.action = Action::kFail, .reason = std::move(reason), .message = std::move(message)};
}

// The coordinator keeps the budget of the other nodes and does not know their exit codes; a node that dies
// before it joins never gets there, so as many deaths of agents in a window as restarts are enough.
AgentVerdict judge_lost_node(const AgentExit& exit, const std::string& what, const RunProgress& progress,
                             const v1alpha1::FailurePolicy& policy, policy::Time now) {
  const bool with_coordinator = exit.node == 0;
  policy::Failure failure{.reason =
                              ended_with(exit, ExitCode::kLeft) ? reasons::kPreempted : reasons::kPodLost};
  if (with_coordinator)
    failure.exit_code =
        exit.status.signal == 0 ? exit.status.exit_code : policy::kSignalExitCode + exit.status.signal;
  const policy::Decision decision =
      policy::decide(policy, failure, with_coordinator ? progress.budget : progress.lost_agents, now);
  if (!decision.restart) return fail(decision.failed_reason, fmt::format("{}; {}", what, decision.next));
  const std::string next = with_coordinator
                               ? fmt::format("for attempt {}; {}", progress.last_attempt + 1, decision.next)
                               : "and joins the next attempt";
  return {.action = Action::kStartAgain,
          .restarts = with_coordinator,
          .counts = with_coordinator && decision.counts,
          .reason = failure.reason,
          .message = fmt::format("{}; it is started again {}", what, next)};
}

}  // namespace

AgentVerdict judge_agent_exit(const AgentExit& exit, const RunProgress& progress,
                              const v1alpha1::FailurePolicy& policy, policy::Time now) {
  if (progress.job_over) return {.action = Action::kExpected, .reason = {}, .message = {}};
  const std::string what =
      fmt::format("the agent of node {} ended with {}", exit.node, to_string(exit.status));
  if (exit.status.signal != 0) return judge_lost_node(exit, what, progress, policy, now);
  const bool tells_results = exit.node == 0;
  const bool was_told_to_stop = ended_with(exit, ExitCode::kLeft) || ended_with(exit, ExitCode::kInterrupted);
  if (was_told_to_stop && !tells_results) return judge_lost_node(exit, what, progress, policy, now);
  if (tells_results) return fail(reasons::kAgentFailed, what + " before the job was over");
  // The end of the job may have reached this node before its result reached us.
  return {.action = Action::kAwaitResult, .reason = reasons::kAgentFailed, .message = what};
}

void count_lost_agent(const AgentExit& exit, const AgentVerdict& verdict,
                      const v1alpha1::FailurePolicy& policy, policy::Time now, RunProgress& progress) {
  if (verdict.counts) policy::count_restart(policy, now, progress.budget);
  if (exit.node > 0 && !ended_with(exit, ExitCode::kLeft))
    policy::count_restart(policy, now, progress.lost_agents);
  end_attempt(now, progress);
}

void end_attempt(policy::Time now, RunProgress& progress) {
  const policy::Time lasted = now - progress.attempt_since.value_or(now);
  progress.short_attempts = policy::short_attempts_after(progress.short_attempts, progress.made_step, lasted);
  progress.attempt_since.reset();
  progress.made_step = false;
}

}  // namespace caravan::cli
