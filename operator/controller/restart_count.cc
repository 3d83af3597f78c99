#include "operator/controller/restart_count.h"

#include "operator/api/conditions.h"
#include "operator/api/names.h"
#include "operator/controller/machine_policy.h"

namespace caravan::controller {
namespace {

// With the attempt that ends: its ranks run for as long as the condition Running is true.
int short_attempts_of(const v1alpha1::JobStatus& status, TimePoint now) {
  const v1alpha1::Condition* running = find_condition(status, conditions::kRunning);
  const bool made_step =
      is_true(status, conditions::kRunning) && running->reason() == reasons::kStepsAdvancing;
  const auto since = made_step ? to_time(running->last_transition_time()) : std::nullopt;
  const auto lasted = std::chrono::duration_cast<std::chrono::milliseconds>(now - since.value_or(now));
  return policy::short_attempts_after(status.short_attempts(), made_step, lasted);
}

}  // namespace

policy::Budget budget_of(const v1alpha1::JobStatus& status) {
  policy::Budget budget{.used = status.counted_restarts()};
  if (const auto start = to_time(status.restart_window_start()))
    budget.window_start = policy::since_epoch(*start);
  return budget;
}

void count_restart(const v1alpha1::FailurePolicy& policy, const FailureVerdict& restart, TimePoint now,
                   v1alpha1::JobStatus& status) {
  if (restart.next_attempt <= status.attempt()) return;
  note_failure(restart.machine, restart.next_attempt - 1, status);
  status.set_attempt(restart.next_attempt);
  status.set_restarts(status.restarts() + 1);
  status.set_short_attempts(short_attempts_of(status, now));
  if (!restart.counts) return;
  policy::Budget budget = budget_of(status);
  policy::count_restart(policy, policy::since_epoch(now), budget);
  if (budget.used == 1) status.set_restart_window_start(to_text(now));
  status.set_counted_restarts(budget.used);
}

}  // namespace caravan::controller
