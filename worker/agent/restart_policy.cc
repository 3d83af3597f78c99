#include "worker/agent/restart_policy.h"

#include <fmt/format.h>

#include <algorithm>

#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::agent {
namespace {

using v1alpha1::FailurePolicy;
using v1alpha1::FailureRule;

constexpr int kDefaultMaxRestarts = 10;

bool matches(const FailureRule& rule, const Failure& failure) {
  if (rule.on_exit_codes().empty() && rule.on_reason().empty()) return true;
  const auto& codes = rule.on_exit_codes();
  const bool code =
      failure.exit_code && std::find(codes.begin(), codes.end(), *failure.exit_code) != codes.end();
  const bool reason = rule.on_reason() == failure.reason;
  return (codes.empty() || code) && (rule.on_reason().empty() || reason);
}

RestartDecision fail(std::string reason, std::string why) {
  return {.failed_reason = std::move(reason), .next = fmt::format("not restarted: {}", why)};
}

// What happens where no rule matches and no restart would help; empty otherwise.
RestartDecision judge_without_rule(const Failure& failure) {
  if (failure.reason == reasons::kDeadlineExceeded)
    return fail(reasons::kDeadlineExceeded, "the time is over");
  if (failure.bad_input) return fail(reasons::kInvalidSpec, "bad input does not get better");
  if (failure.reason == reasons::kNonFiniteLoss) {
    return fail(reasons::kNonFiniteLoss, "the same steps would give the same loss");
  }
  return {.restart = true};
}

RestartDecision within_budget(const FailurePolicy& policy, const std::vector<TimePoint>& restarts,
                              TimePoint now) {
  const std::chrono::seconds window(policy.window_seconds());
  const int limit = policy.has_max_restarts() ? policy.max_restarts() : kDefaultMaxRestarts;
  const auto used = std::count_if(restarts.begin(), restarts.end(),
                                  [&](TimePoint at) { return window.count() == 0 || now - at <= window; });
  if (used >= limit) {
    return fail(reasons::kMaxRestartsReached,
                fmt::format("{} of {} restarts are used up (failurePolicy.maxRestarts)", used, limit));
  }
  return {.restart = true, .next = fmt::format("restarting ({} of {} restarts)", used + 1, limit)};
}

}  // namespace

RestartDecision decide_restart(const FailurePolicy& policy, const Failure& failure,
                               const std::vector<TimePoint>& counted_restarts, TimePoint now) {
  const auto& rules = policy.rules_list();
  const auto rule =
      std::find_if(rules.begin(), rules.end(), [&](const FailureRule& r) { return matches(r, failure); });
  const bool has_rule = rule != rules.end() && failure.reason != reasons::kDeadlineExceeded;
  if (!has_rule) {
    RestartDecision judged = judge_without_rule(failure);
    return judged.restart ? within_budget(policy, counted_restarts, now) : judged;
  }
  const std::string name = fmt::format("failurePolicy.rules[{}]", rule - rules.begin());
  switch (rule->action()) {
    case FailureRule::Fail:
      return fail(reasons::kFailurePolicyMatched, name + " says Fail");
    case FailureRule::RestartIgnoringLimit:
      return {.restart = true, .counts = false, .next = fmt::format("restarting, not counted ({})", name)};
    default:
      return within_budget(policy, counted_restarts, now);
  }
}

std::chrono::milliseconds restart_delay(int fruitless) {
  constexpr std::chrono::milliseconds kFirst{500};
  constexpr std::chrono::milliseconds kLongest{10'000};
  if (fruitless <= 0) return std::chrono::milliseconds{0};
  return std::min(kFirst * (1 << std::min(fruitless - 1, 10)), kLongest);
}

}  // namespace caravan::agent
