#include "operator/controller/pod_trouble.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "operator/controller/pods_policy.h"

namespace caravan::controller {
namespace {

// A container is usually created within seconds of its pod's binding; after this long users should know.
constexpr std::chrono::seconds kSlowCreation{20};

// The cause of a slow creation stands in the pod's events only.
std::string explain_slow_creation(const std::string& pod) {
  return fmt::format(
      "its container is still being created {} s after it got a machine, as when a volume cannot be mounted "
      "or an image is large; `kubectl describe pod {}` shows why",
      kSlowCreation.count(), pod);
}

// Empty: nothing holds it up.
std::string explain_state(const PodView& pod, TimePoint now) {
  if (pod.creating_since && !until_slow(pod, now)) return explain_slow_creation(pod.name);
  if (!pod.leaving()) return pod.trouble;
  // Its gang may write a checkpoint first.
  return fmt::format("it is being deleted, and ends by {}: its gang saves first if it can",
                     to_text(*pod.gone_by));
}

// Whoever does not start on a machine that failed before is made again there as long as its queue names that
// one. Empty: the pod has started, or may go elsewhere.
std::string explain_assignment(const PodView& pod, const std::optional<WorkloadView>& workload,
                               const std::vector<std::string>& avoided) {
  const bool is_starting = pod.alive() && pod.phase == PodPhase::kPending;
  if (!is_starting || !std::ranges::binary_search(avoided, pod.machine) ||
      !is_assigned_its_machine(pod, workload))
    return "";
  return fmt::format(
      "Kueue's topology names node {} for it, on which two attempts or more have failed: cordon that node, "
      "and suspend and resume the job, so that Kueue chooses another",
      pod.machine);
}

}  // namespace

std::string trouble_of(const PodView& pod, const std::optional<WorkloadView>& workload,
                       const std::vector<std::string>& avoided, TimePoint now) {
  const std::string state = explain_state(pod, now);
  const std::string assignment = explain_assignment(pod, workload, avoided);
  return state + (state.empty() || assignment.empty() ? "" : "; ") + assignment;
}

LookAgain until_slow(const PodView& pod, TimePoint now) {
  if (!pod.creating_since || now >= *pod.creating_since + kSlowCreation) return std::nullopt;
  return until(*pod.creating_since + kSlowCreation, now);
}

}  // namespace caravan::controller
