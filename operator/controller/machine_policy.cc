#include "operator/controller/machine_policy.h"

#include <algorithm>

#include "operator/api/conditions.h"
#include "policy/failure_policy.h"

namespace caravan::controller {
namespace {

constexpr int kFailuresUntilAvoided = 2;
constexpr int kMostRemembered = 16;  // as the schema says
constexpr std::size_t kMostAvoided = 8;

using Machines = google::protobuf::RepeatedPtrField<v1alpha1::FailedMachine>;

bool failed_twice(const v1alpha1::FailedMachine& machine) {
  return machine.failures() >= kFailuresUntilAvoided;
}

// The latest of those that failed twice.
std::vector<const v1alpha1::FailedMachine*> avoided(const v1alpha1::JobStatus& status) {
  std::vector<const v1alpha1::FailedMachine*> found;
  const Machines& machines = status.failed_machines();
  for (auto machine = machines.rbegin(); machine != machines.rend() && found.size() < kMostAvoided;
       ++machine) {
    if (failed_twice(*machine)) found.push_back(&*machine);
  }
  return found;
}

}  // namespace

std::string machine_of(const std::vector<PodView>& pods, int node, int attempt) {
  const PodView* latest = nullptr;
  for (const PodView& pod : pods) {
    if (pod.node != node || pod.attempt > attempt) continue;
    if (latest == nullptr || pod.attempt > latest->attempt) latest = &pod;
  }
  return latest == nullptr ? "" : latest->machine;
}

std::optional<TimePoint> start_overdue_at(const PodView& pod) {
  if (pod.phase != PodPhase::kPending || !pod.bound_at) return std::nullopt;
  return *pod.bound_at + kStartsWithin;
}

std::optional<TimePoint> machine_given_up_at(const PodView& pod, const v1alpha1::JobStatus& status) {
  if (pod.phase != PodPhase::kRunning || !pod.silent_since) return std::nullopt;
  const auto stepped_at = to_time(status.progress().last_update_time());
  return stepped_at ? std::max(*pod.silent_since, *stepped_at) + policy::kAbsentAfter
                    : *pod.silent_since + kStartsWithin;
}

bool failed_by_machine(const PodView& pod) {
  if (const auto overdue_at = start_overdue_at(pod)) return pod.deleted_at >= overdue_at && !pod.disrupted;
  if (!pod.ended() || pod.disrupted || pod.evicted || pod.out_of_memory || pod.gone_by) return false;
  if (!pod.exit_code) return pod.phase == PodPhase::kFailed;
  const int signal = *pod.exit_code - policy::kSignalExitCode;
  return signal > 0 && !policy::is_sent(signal);
}

void note_failure(const std::string& machine, int attempt, v1alpha1::JobStatus& status) {
  if (machine.empty()) return;
  Machines& machines = *status.mutable_failed_machines();
  const auto known = std::find_if(machines.begin(), machines.end(),
                                  [&](const auto& other) { return other.name() == machine; });
  v1alpha1::FailedMachine failed;
  failed.set_name(machine);
  if (known != machines.end()) {
    failed = *known;
    machines.erase(known);
  } else if (machines.size() >= kMostRemembered) {
    const auto once = std::find_if_not(machines.begin(), machines.end(), failed_twice);
    machines.erase(once == machines.end() ? machines.begin() : once);
  }
  failed.set_failures(failed.failures() + 1);
  failed.set_attempt(attempt);
  *machines.Add() = std::move(failed);
}

void note_absence(const std::string& machine, int attempt, v1alpha1::JobStatus& status) {
  const bool is_noted =
      std::ranges::any_of(status.failed_machines(), [&](const v1alpha1::FailedMachine& failed) {
        return failed.name() == machine && failed.attempt() == attempt;
      });
  if (!is_noted) note_failure(machine, attempt, status);
}

std::vector<std::string> avoided_machines(const v1alpha1::JobStatus& status) {
  std::vector<std::string> names;
  for (const v1alpha1::FailedMachine* machine : avoided(status)) names.push_back(machine->name());
  std::sort(names.begin(), names.end());
  return names;
}

bool must_move(const PodView& pod, const v1alpha1::JobStatus& status) {
  if (makes_steps(status)) return false;
  const auto machines = avoided(status);
  return std::any_of(machines.begin(), machines.end(), [&](const v1alpha1::FailedMachine* machine) {
    return machine->name() == pod.machine && pod.attempt <= machine->attempt() &&
           machine->attempt() + 1 == status.attempt();
  });
}

bool is_of_a_move(int attempt, const v1alpha1::JobStatus& status) {
  const auto machines = avoided(status);
  return std::any_of(machines.begin(), machines.end(), [&](const v1alpha1::FailedMachine* machine) {
    return machine->attempt() + 1 == attempt;
  });
}

}  // namespace caravan::controller
