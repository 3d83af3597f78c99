#include "policy/failure_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "caravan/v1alpha1/options.pb.h"
#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::policy {
namespace {

using v1alpha1::FailurePolicy;
using v1alpha1::FailureRule;

// Of a policy that nobody has completed.
int default_max_restarts() {
  const auto& field = *FailurePolicy::descriptor()->FindFieldByNumber(FailurePolicy::kMaxRestartsFieldNumber);
  return std::stoi(field.options().GetExtension(v1alpha1::rules).default_value());
}

bool matches(const FailureRule& rule, const Failure& failure) {
  const auto& codes = rule.on_exit_codes();
  const bool code = codes.empty() || (failure.exit_code && std::find(codes.begin(), codes.end(),
                                                                     *failure.exit_code) != codes.end());
  return code && (rule.on_reason().empty() || rule.on_reason() == failure.reason);
}

Decision fail(std::string reason, const std::string& why) {
  return {.failed_reason = std::move(reason), .next = fmt::format("not restarted: {}", why)};
}

// What happens where no rule matches, whatever the budget is.
std::optional<Decision> decide_by_reason(const Failure& failure) {
  if (failure.reason == reasons::kPreempted)
    return Decision{
        .restart = true, .counts = false, .next = "restarting, not counted: nothing of the job failed"};
  if (failure.bad_input) return fail(reasons::kInvalidSpec, "bad input does not get better");
  if (failure.reason == reasons::kNonFiniteLoss)
    return fail(reasons::kNonFiniteLoss, "the same steps would give the same loss");
  return std::nullopt;
}

bool window_is_over(const FailurePolicy& policy, const Budget& budget, Time now) {
  return policy.window_seconds() > 0 && budget.window_start &&
         now - *budget.window_start > std::chrono::seconds(policy.window_seconds());
}

}  // namespace

bool is_of_pods(const std::string& reason) {
  return reason == reasons::kPodLost || reason == reasons::kPreempted;
}

bool is_sent(int signal) {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

Decision decide(const FailurePolicy& policy, const Failure& failure, const Budget& budget, Time now) {
  if (failure.reason == reasons::kDeadlineExceeded)
    return fail(reasons::kDeadlineExceeded, "the time is over");
  const auto& rules = policy.rules_list();
  const auto rule =
      std::find_if(rules.begin(), rules.end(), [&](const FailureRule& r) { return matches(r, failure); });
  if (rule == rules.end()) return decide_by_reason(failure).value_or(decide_by_budget(policy, budget, now));
  const std::string name = fmt::format("failurePolicy.rules[{}]", rule - rules.begin());
  switch (rule->action()) {
    case FailureRule::Fail:
      return fail(reasons::kFailurePolicyMatched, name + " says Fail");
    case FailureRule::RestartIgnoringLimit:
      return {.restart = true, .counts = false, .next = fmt::format("restarting, not counted ({})", name)};
    default:
      return decide_by_budget(policy, budget, now);
  }
}

Decision decide_by_budget(const FailurePolicy& policy, const Budget& budget, Time now) {
  const int limit = policy.has_max_restarts() ? policy.max_restarts() : default_max_restarts();
  const int used = used_restarts(policy, budget, now);
  if (used >= limit) {
    return fail(reasons::kMaxRestartsReached,
                fmt::format("{} of {} restarts are used up (failurePolicy.maxRestarts)", used, limit));
  }
  return {.restart = true, .next = fmt::format("restarting ({} of {} restarts)", used + 1, limit)};
}

int used_restarts(const FailurePolicy& policy, const Budget& budget, Time now) {
  return window_is_over(policy, budget, now) ? 0 : budget.used;
}

void count_restart(const FailurePolicy& policy, Time now, Budget& budget) {
  if (!budget.window_start || window_is_over(policy, budget, now)) budget = {.used = 0, .window_start = now};
  ++budget.used;
}

int short_attempts_after(int before, bool made_step, std::chrono::milliseconds lasted) {
  constexpr std::chrono::minutes kHealthy{10};
  const bool was_healthy = made_step && lasted >= kHealthy;
  return was_healthy ? 0 : before + 1;
}

std::chrono::milliseconds pause_before_restart(int short_attempts) {
  constexpr std::chrono::milliseconds kFirst{500};
  if (short_attempts <= 1) return std::chrono::milliseconds{0};
  return std::min<std::chrono::milliseconds>(kFirst * (1 << std::min(short_attempts - 2, 10)),
                                             kLongestRestartPause);
}

}  // namespace caravan::policy
