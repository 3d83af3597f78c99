#include "operator/controller/gang_policy.h"

#include <fmt/format.h>

#include <algorithm>

#include "kube/client/backoff.h"
#include "operator/api/conditions.h"
#include "operator/api/job_queue.h"
#include "operator/api/names.h"
#include "operator/controller/pod_loss.h"

namespace caravan::controller {
namespace {

using Course = Verdict::Course;
using std::chrono::seconds;

constexpr seconds kFirstPause{30};
constexpr seconds kLongestPause{600};
// An old job that no machines will ever suffice for does not keep all others waiting.
constexpr int kMostAhead = 8;

// Since when it has some machines and not all; nothing while it has none, or all.
std::optional<TimePoint> incomplete_since(const Snapshot& seen, const v1alpha1::JobStatus& status,
                                          int nodes) {
  const v1alpha1::Condition* scheduled = find_condition(status, conditions::kScheduled);
  if (scheduled == nullptr || scheduled->status() == "True") return std::nullopt;
  auto since = to_time(scheduled->last_transition_time());
  std::optional<TimePoint> first_bound;
  int bound = 0;
  for (const PodView& pod : seen.pods) {
    if (!pod.alive() || !pod.bound()) continue;
    ++bound;
    if (pod.bound_at) first_bound = std::min(first_bound.value_or(*pod.bound_at), *pod.bound_at);
  }
  if (bound == 0 || bound >= nodes || !since) return std::nullopt;
  return first_bound ? std::max(*since, *first_bound) : *since;
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
