#include "operator/controller/placement_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "operator/api/conditions.h"
#include "operator/api/job_queue.h"
#include "operator/api/names.h"
#include "operator/controller/children_policy.h"
#include "operator/controller/domain_shortfall.h"
#include "operator/controller/failure_policy.h"
#include "operator/controller/machine_policy.h"
#include "operator/controller/pod_trouble.h"

namespace caravan::controller {
namespace {

// How far the pods of a job are.
struct Placed {
  bool all_bound = false;
  std::string reason = reasons::kWaitingForPods;
  std::string message = {};
  std::string trouble = {};  // the first thing that holds a pod up
  LookAgain look_again = {};
};

Placed count_bound_pods(const Snapshot& snapshot, const v1alpha1::JobStatus& status, int nodes,
                        TimePoint now) {
  const std::vector<std::string> avoided = avoided_machines(status);
  int bound = 0;
  Placed placed{.trouble = snapshot.trouble};
  for (const PodView& pod : snapshot.pods) {
    const bool is_done = pod.phase == PodPhase::kSucceeded && !pod.gone_by;  // agents do not end all at once
    if (!pod.alive() && !is_done && !pod.leaving()) continue;
    if (pod.bound() && !pod.leaving()) ++bound;
    const std::string trouble = trouble_of(pod, snapshot.queue.workload, avoided, now);
    if (placed.trouble.empty() && !trouble.empty()) {
      placed.trouble = fmt::format("pod {}: {}", pod.name, trouble);
      if (pod.gated) placed.reason = reasons::kPodsGated;
    }
    placed.look_again = sooner(placed.look_again, until_slow(pod, now));
  }
  placed.all_bound = bound == nodes;
  if (placed.all_bound) placed.reason = reasons::kAllPodsBound;
  placed.message = placed.all_bound ? fmt::format("all {} pods have a machine", nodes)
                                    : fmt::format("{} of {} pods have a machine", bound, nodes);
  if (!placed.trouble.empty()) placed.message += "; " + placed.trouble;
  return placed;
}

// When the scheduler of gangs has waited for machines as long as it was told to; nothing: nobody waits, or
// with no such end, as queues do and gangs of this operator's own (gang_policy.h).
std::optional<TimePoint> end_of_patience(const Snapshot& snapshot, const v1alpha1::JobStatus& status,
                                         TimePoint now) {
  const v1alpha1::Condition* scheduled = find_condition(status, conditions::kScheduled);
  if (gang_provider(snapshot.job) != v1alpha1::Gang::Coscheduling || snapshot.pods.empty() ||
      scheduled == nullptr || scheduled->status() == "True")
    return std::nullopt;
  const TimePoint since = to_time(scheduled->last_transition_time()).value_or(now);
  const TimePoint first = std::ranges::min(snapshot.pods, {}, &PodView::created_at).created_at;
  return std::max(since, first) + gang_timeout(snapshot.job);
}

Placed survey_pods(const Snapshot& snapshot, const v1alpha1::JobStatus& status, const v1alpha1::JobPlan& plan,
                   const DomainVerdict& domains, const std::string& why_no_pods, const Settings& settings,
                   TimePoint now) {
  if (domains.course == Verdict::Course::kWaits)
    return {.reason = reasons::kNoDomain, .message = domains.message};
  Placed placed = count_bound_pods(snapshot, status, plan.nodes(), now);
  const std::string lacking = placed.all_bound ? "" : why_no_pods;
  for (const std::string& more : {lacking, domains.message, say_what_stands_apart(snapshot, plan)}) {
    if (!more.empty()) placed.message += "; " + more;
  }
  if (placed.reason != reasons::kAllPodsBound) {
    if (std::string refusal = refusal_of_pods(snapshot.job.spec, settings); !refusal.empty()) {
      placed.reason = reasons::kNotAllowed;
      placed.message = std::move(refusal);
    }
  }
  if (placed.reason != reasons::kWaitingForPods) return placed;
  const auto end = end_of_patience(snapshot, status, now);
  if (end && now >= *end) placed.reason = reasons::kGangTimeout;
  if (end && now < *end) placed.look_again = sooner(placed.look_again, until(*end, now));
  return placed;
}

}  // namespace

Verdict judge_placement(const Snapshot& snapshot, const v1alpha1::JobStatus& status,
                        const v1alpha1::JobPlan& plan, const DomainVerdict& domains,
                        const std::string& why_no_pods, const Settings& settings, TimePoint now) {
  Placed placed = survey_pods(snapshot, status, plan, domains, why_no_pods, settings, now);
  Verdict verdict{.look_again = placed.look_again};
  verdict.conditions = {set_condition(conditions::kScheduled, placed.all_bound, std::move(placed.reason),
                                      std::move(placed.message))};
  if (placed.all_bound && !is_true(status, conditions::kRunning)) {
    std::string meeting = "the agents meet";
    if (absent_pod(snapshot.progress, snapshot.pods)) meeting += "; " + snapshot.progress->absence->message;
    verdict.conditions.push_back(
        set_condition(conditions::kRunning, false, reasons::kRendezvous,
                      placed.trouble.empty() ? std::move(meeting) : std::move(placed.trouble)));
  }
  return verdict;
}

}  // namespace caravan::controller
