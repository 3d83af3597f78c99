#include "operator/controller/gang_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "kube/client/backoff.h"
#include "operator/api/conditions.h"
#include "operator/api/job_queue.h"
#include "operator/api/names.h"
#include "operator/controller/pod_loss.h"
#include "policy/failure_policy.h"

namespace caravan::controller {
namespace {

using Course = Verdict::Course;
using std::chrono::seconds;

constexpr seconds kFirstPause{30};
constexpr seconds kLongestPause{600};
// An old job that no machines will ever suffice for does not keep all others waiting.
constexpr int kMostAhead = 8;

constexpr TimePoint kNever = TimePoint::max();

TimePoint later(TimePoint a, TimePoint b) {
  return b == kNever ? a : std::max(a, b);
}

// By the API server, or by the operator itself.
bool are_pods_refused(const Snapshot& seen, const v1alpha1::Condition& scheduled) {
  return !seen.trouble.empty() || scheduled.reason() == reasons::kNotAllowed ||
         scheduled.reason() == reasons::kNoDomain;
}

// Since when it has some machines and lacks others; nothing while it has none, or all. A pod that is yet to
// be made, as while the one before ends or failurePolicy has it wait, lacks none, unless it is refused, or is
// not there when every pause is over, since nobody could make it. The time begins with the first machine of
// the latest attempt that has any, or the first pod of a later one: one that is made again in its attempt, to
// wait elsewhere, begins no other.
std::optional<TimePoint> incomplete_since(const Snapshot& seen, const v1alpha1::JobStatus& status,
                                          int nodes) {
  const v1alpha1::Condition* scheduled = find_condition(status, conditions::kScheduled);
  if (scheduled == nullptr || scheduled->status() == "True") return std::nullopt;
  const auto since = to_time(scheduled->last_transition_time());
  TimePoint first_bound = kNever;
  int bound = 0;
  int latest = 0;  // attempt that has machines
  for (const PodView& pod : seen.pods) {
    if (!pod.alive() || !pod.bound()) continue;
    ++bound;
    if (pod.attempt > latest) first_bound = kNever;
    latest = std::max(latest, pod.attempt);
    if (pod.bound_at && pod.attempt == latest) first_bound = std::min(first_bound, *pod.bound_at);
  }
  TimePoint first_waiting = kNever;
  bool lacks_some = are_pods_refused(seen, *scheduled);
  for (const PodView& pod : seen.pods) {
    if (!pod.alive() || pod.bound()) continue;
    lacks_some = true;
    if (pod.attempt > latest) first_waiting = std::min(first_waiting, pod.created_at);
  }
  const bool some_are_missing = newest_by_node(seen.pods).size() < static_cast<std::size_t>(nodes);
  if (bound == 0 || bound >= nodes || !since || (!lacks_some && !some_are_missing)) return std::nullopt;
  const TimePoint begin = later(later(*since, first_bound), first_waiting);
  return lacks_some ? begin : begin + policy::kLongestRestartPause;
}

}  // namespace

GangVerdict judge_gang(const Snapshot& seen, const v1alpha1::JobStatus& status, int nodes, TimePoint now) {
  GangVerdict verdict;
  verdict.gang = status.gang();
  const Job& job = seen.job;
  if (gang_provider(job) != v1alpha1::Gang::None || nodes < 2) return verdict;
  if (const auto until_then = to_time(status.gang().waits_until())) {
    if (now < *until_then || holds_machines(seen.pods, now)) {
      verdict.course = Course::kStops;
      verdict.look_again = now < *until_then ? until(*until_then, now) : until_gone(seen.pods, now);
    } else {
      verdict.gang.clear_waits_until();
    }
    return verdict;
  }
  const auto since = incomplete_since(seen, status, nodes);
  if (!since) return verdict;
  const seconds timeout = gang_timeout(job);
  if (now < *since + timeout) {
    verdict.look_again = until(*since + timeout, now);
    return verdict;
  }
  const int times = status.gang().given_back() + 1;
  const auto pause =
      kube::exponential(kFirstPause, kLongestPause, times) + std::min(seen.gangs_ahead, kMostAhead) * timeout;
  const std::string again = to_text(std::chrono::ceil<seconds>(now + pause));
  verdict.course = Course::kStops;
  verdict.gives_back = true;
  verdict.gang.set_given_back(times);
  verdict.gang.set_waits_until(again);
  std::string message = fmt::format(
      "not all of the {} pods got a machine within {} s (scheduling.gang.timeoutSeconds), so those that some "
      "held are given back; pods are made again at {}{}",
      nodes, timeout.count(), again,
      seen.gangs_ahead > 0 ? ", behind older jobs that wait for machines" : "");
  verdict.conditions = {
      set_condition(conditions::kScheduled, false, reasons::kGangTimeout, std::move(message))};
  for (const char* type : conditions::kOfPods)
    verdict.conditions.push_back(
        clear_condition(type, reasons::kGangTimeout, "the gang has given its machines back"));
  return verdict;
}

}  // namespace caravan::controller
