#include "operator/controller/placement_policy.h"

#include <fmt/format.h>

#include <chrono>

#include "operator/api/conditions.h"
#include "operator/api/names.h"
#include "operator/controller/children_policy.h"

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

PlacementVerdict count_bound_pods(const Snapshot& snapshot, int nodes, TimePoint now) {
  int bound = 0;
  PlacementVerdict verdict{.reason = reasons::kWaitingForPods, .trouble = snapshot.trouble};
  for (const PodView& pod : snapshot.pods) {
    const bool is_done = pod.phase == PodPhase::kSucceeded && !pod.gone_by;  // agents do not end all at once
    if (!pod.alive() && !is_done && !pod.leaving()) continue;
    if (pod.bound() && !pod.leaving()) ++bound;
    const std::string trouble = trouble_of(pod, now);
    if (verdict.trouble.empty() && !trouble.empty()) {
      verdict.trouble = fmt::format("pod {}: {}", pod.name, trouble);
      if (pod.gated) verdict.reason = reasons::kPodsGated;
    }
    if (may_become_slow(pod, now))
      verdict.look_again = sooner(verdict.look_again, until(*pod.creating_since + kSlowCreation, now));
  }
  verdict.all_bound = bound == nodes;
  if (verdict.all_bound) verdict.reason = reasons::kAllPodsBound;
  verdict.message = verdict.all_bound ? fmt::format("all {} pods have a machine", nodes)
                                      : fmt::format("{} of {} pods have a machine", bound, nodes);
  if (!verdict.trouble.empty()) verdict.message += "; " + verdict.trouble;
  return verdict;
}

// When a gang's patience with a job that waits for machines is over; nothing: it has no end, or none waits.
std::optional<TimePoint> end_of_patience(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status,
                                         TimePoint now) {
  const v1alpha1::Condition* scheduled = find_condition(status, conditions::kScheduled);
  if (scheduled == nullptr || scheduled->status() == "True" || !spec.scheduling().has_gang())
    return std::nullopt;
  const TimePoint since = to_time(scheduled->last_transition_time()).value_or(now);
  return since + std::chrono::seconds(spec.scheduling().gang().timeout_seconds());
}

}  // namespace

PlacementVerdict judge_placement(const Snapshot& snapshot, const v1alpha1::JobStatus& status,
                                 const v1alpha1::JobPlan& plan, const DomainVerdict& domains,
                                 const Settings& settings, TimePoint now) {
  if (domains.no_domain) return {.reason = reasons::kNoDomain, .message = domains.message};
  PlacementVerdict verdict = count_bound_pods(snapshot, plan.nodes(), now);
  for (const std::string& more : {domains.message, say_what_stands_apart(snapshot, plan)}) {
    if (!more.empty()) verdict.message += "; " + more;
  }
  if (verdict.reason != reasons::kAllPodsBound) {
    if (std::string refusal = refusal_of_pods(snapshot.job.spec, settings); !refusal.empty()) {
      verdict.reason = reasons::kNotAllowed;
      verdict.message = std::move(refusal);
    }
  }
  if (verdict.reason != reasons::kWaitingForPods) return verdict;
  const auto end = end_of_patience(snapshot.job.spec, status, now);
  if (end && now >= *end) verdict.reason = reasons::kGangTimeout;
  if (end && now < *end) verdict.look_again = sooner(verdict.look_again, until(*end, now));
  return verdict;
}

}  // namespace caravan::controller
