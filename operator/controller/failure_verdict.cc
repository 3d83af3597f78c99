#include "operator/controller/failure_verdict.h"

#include <fmt/format.h>

#include "operator/api/names.h"
#include "operator/controller/machine_policy.h"
#include "operator/controller/memory_policy.h"
#include "operator/controller/restart_count.h"

namespace caravan::controller {
namespace {

// What pods are deleted for in this attempt by the operator itself; null: for nothing.
const char* own_doing(int attempt, const v1alpha1::JobStatus& status) {
  if (is_of_a_move(attempt, status)) return "pods move away from a machine, which costs no restart";
  if (is_of_a_new_layout(attempt, status))
    return "pods are made again for another layout, which costs no restart";
  return nullptr;
}

// ours: what the operator itself deleted the pod for; null: for nothing.
policy::Decision decide_loss(const v1alpha1::FailurePolicy& policy, const v1alpha1::JobStatus& status,
                             const policy::Failure& failure, const char* ours, TimePoint now) {
  if (ours != nullptr && policy::is_of_pods(failure.reason))
    return {.restart = true, .counts = false, .next = ours};
  return policy::decide(policy, failure, budget_of(status), policy::since_epoch(now));
}

}  // namespace

FailureVerdict verdict_of(const policy::Decision& decision, int attempt, const std::string& reason,
                          const std::string& what) {
  FailureVerdict verdict;
  verdict.course = decision.restart ? Verdict::Course::kRestarts : Verdict::Course::kFails;
  verdict.reason = decision.restart ? reason : decision.failed_reason;
  verdict.message = fmt::format("{}; {}", what, decision.next);
  verdict.next_attempt = attempt + 1;
  verdict.counts = decision.counts;
  return verdict;
}

FailureVerdict judge_end_of_pod(const v1alpha1::FailurePolicy& policy, const v1alpha1::JobStatus& status,
                                const policy::Failure& failure, const std::string& what, int attempt,
                                TimePoint now) {
  return verdict_of(decide_loss(policy, status, failure, own_doing(attempt, status), now), attempt,
                    failure.reason, what);
}

FailureVerdict judge_loss(const v1alpha1::FailurePolicy& policy, const v1alpha1::JobStatus& status,
                          const Loss& loss, int attempt, TimePoint now) {
  const policy::Failure failure{.reason = reason_of(loss),
                                .exit_code = loss.pod == nullptr ? std::nullopt : loss.pod->exit_code};
  // Else it ended by itself, or its agent is silent.
  const bool may_be_deleted = loss.pod == nullptr ? !loss.by_silence : loss.pod->gone_by.has_value();
  const char* ours = may_be_deleted ? own_doing(attempt, status) : nullptr;
  FailureVerdict verdict =
      verdict_of(decide_loss(policy, status, failure, ours, now), attempt, failure.reason, describe(loss));
  if (loss.pod != nullptr && failed_by_machine(*loss.pod)) verdict.machine = loss.pod->machine;
  return verdict;
}

}  // namespace caravan::controller
