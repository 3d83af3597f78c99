#include "operator/controller/pod_trouble.h"

#include <fmt/format.h>

#include <chrono>

namespace caravan::controller {
namespace {

// A container is usually created within seconds of its pod's binding; after this long users should know.
constexpr std::chrono::seconds kSlowCreation{20};

// The cause of a slow creation stands in the pod's events only.
std::string explain_slow_creation(const std::string& pod) {
  return fmt::format(
      "its container is still being created {} s after it got a machine, as when a volume cannot be mounted "
      "or "
      "an image is large; `kubectl describe pod {}` shows why",
      kSlowCreation.count(), pod);
}

bool may_become_slow(const PodView& pod, TimePoint now) {
  return pod.creating_since && now < *pod.creating_since + kSlowCreation;
}

// Empty: nothing holds it up.
std::string trouble_of(const PodView& pod, TimePoint now) {
  if (pod.creating_since && !may_become_slow(pod, now)) return explain_slow_creation(pod.name);
  if (!pod.leaving()) return pod.trouble;
  // Its gang may write a checkpoint first.
  return fmt::format("it is being deleted, and ends by {}: its gang saves first if it can",
                     to_text(*pod.gone_by));
}

}  // namespace

PlacementVerdict judge_placement(const Snapshot& snapshot, int nodes, TimePoint now) {
  int bound = 0;
  PlacementVerdict verdict{.trouble = snapshot.trouble};
  for (const PodView& pod : snapshot.pods) {
    const bool is_done = pod.phase == PodPhase::kSucceeded && !pod.gone_by;  // agents do not end all at once
    if (!pod.alive() && !is_done && !pod.leaving()) continue;
    if (pod.bound() && !pod.leaving()) ++bound;
    const std::string trouble = trouble_of(pod, now);
    if (verdict.trouble.empty() && !trouble.empty()) {
      verdict.trouble = fmt::format("pod {}: {}", pod.name, trouble);
      verdict.gated = pod.gated;
    }
    if (may_become_slow(pod, now))
      verdict.look_again = sooner(verdict.look_again, until(*pod.creating_since + kSlowCreation, now));
  }
  verdict.all_bound = bound == nodes;
  verdict.message = verdict.all_bound ? fmt::format("all {} pods have a machine", nodes)
                                      : fmt::format("{} of {} pods have a machine", bound, nodes);
  if (!verdict.trouble.empty()) verdict.message += "; " + verdict.trouble;
  return verdict;
}

}  // namespace caravan::controller
