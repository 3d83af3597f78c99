#include "operator/controller/dead_pod.h"

#include <chrono>

#include "operator/api/job_conditions.h"
#include "operator/api/names.h"
#include "operator/api/pod_names.h"
#include "operator/controller/pod_loss.h"
#include "policy/failure_policy.h"

namespace caravan::controller {
namespace {

constexpr std::chrono::seconds kEndsWithin{30};  // a pod that has nothing left to save

// A pod that its machine rejected has no end of its own.
TimePoint replaced_at(const PodView& pod, const v1alpha1::JobStatus& status, TimePoint now) {
  return ended_at(pod, now).value_or(pod.created_at) + policy::pause_before_restart(status.short_attempts());
}

// Its gang's attempt is over, so its agent has been let go: what does not end soon is on a machine that died.
std::optional<TimePoint> let_go_by(const Job& job, const PodView& pod) {
  if (!is_true(job.status, conditions::kRestarting) || !pod.deleted_at) return std::nullopt;
  return *pod.deleted_at + kEndsWithin;
}

}  // namespace

DeadPod judge_dead_pod(const Job& job, const PodView& pod, TimePoint now) {
  if (pod.gone_by) {
    const auto let_go = let_go_by(job, pod);
    if (pod.ended() || !pod.holds_machine(now) || (let_go && now >= *let_go))
      return {.in_the_way = pod.name == pod_name(job.key.name, pod.node, job.status.attempt())};
    const LookAgain by_then = let_go ? LookAgain(until(*let_go, now)) : std::nullopt;
    return {.in_the_way = true, .look_again = sooner(by_then, until_gone(pod, now))};
  }
  const TimePoint ready = replaced_at(pod, job.status, now);
  if (now < ready) return {.in_the_way = true, .look_again = until(ready, now)};
  return {.is_deleted = true};
}

}  // namespace caravan::controller
