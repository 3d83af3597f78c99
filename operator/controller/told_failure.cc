#include "operator/controller/told_failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "operator/api/names.h"
#include "operator/controller/machine_policy.h"
#include "operator/controller/pod_loss.h"
#include "operator/controller/restart_count.h"
#include "policy/failure_policy.h"

namespace caravan::controller {
namespace {

// The kubelet tells of a pod's end later than the coordinator loses its agent.
constexpr std::chrono::seconds kEndMayFollow{10};

// A coordinator of another version may have others.
std::string restart_reason(const std::string& reason) {
  const bool is_known = std::ranges::find(reasons::kOfStops, reason) != std::end(reasons::kOfStops);
  return is_known ? reason : reasons::kRankFailed;
}

// Why it ended, its machine tells later. One that was deleted is known: of an agent that was told to end
// while nobody deletes a pod, the machine may evict it.
bool may_be_a_pods_end(const v1alpha1::JobEvent& event, const std::vector<PodView>& pods) {
  if (event.reason() == reasons::kPodLost) return true;
  const auto is_deleted = [](const PodView& pod) { return pod.gone_by.has_value(); };
  return event.reason() == reasons::kPreempted && std::ranges::none_of(pods, is_deleted);
}

// How long the pod's end is still waited for; nothing when it is known or nobody waits for it.
LookAgain wait_for_end(const JobProgress& progress, const PodView* lost, TimePoint now) {
  const bool goes_on = progress.attempt > progress.event->attempt();
  if (lost != nullptr || goes_on || !progress.event_at) return std::nullopt;
  const TimePoint judged_at = *progress.event_at + kEndMayFollow;
  if (now >= judged_at) return std::nullopt;
  return until(judged_at, now);
}

// The suspect node has the pod whose agent fell silent: it was there before, so nobody has deleted it.
bool has_silent_pod(const JobProgress& progress, const std::vector<PodView>& pods,
                    std::chrono::seconds agent_patience) {
  const v1alpha1::JobEvent& event = *progress.event;
  if (!event.has_suspect_node() || !progress.event_at) return false;
  const TimePoint silent_since = *progress.event_at - agent_patience;
  return std::ranges::any_of(pods, [&](const PodView& pod) {
    return pod.node == event.suspect_node() && pod.alive() && pod.bound() && pod.created_at < silent_since;
  });
}

FailureVerdict judge_rank_failure(const v1alpha1::FailurePolicy& policy, const v1alpha1::JobStatus& status,
                                  const v1alpha1::JobEvent& event, TimePoint now) {
  policy::Decision decision{.restart = true, .counts = false};
  if (event.counts())
    decision = policy::decide_by_budget(policy, budget_of(status), policy::since_epoch(now));
  FailureVerdict verdict =
      verdict_of(decision, event.attempt(), restart_reason(event.reason()), event.message());
  // In front, since the message ends with lines of the rank's log.
  verdict.message = event.counts() ? fmt::format("{}: {}", decision.next, event.message()) : event.message();
  if (decision.restart && event.reason() == reasons::kStalled)
    verdict.conditions = {
        set_condition(conditions::kStalled, true, reasons::kNoStepWithinTimeout, event.message())};
  return verdict;
}

}  // namespace

FailureVerdict judge_report(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status,
                            const JobProgress& progress, const std::vector<PodView>& pods, TimePoint now,
                            std::chrono::seconds agent_patience) {
  const v1alpha1::JobEvent& event = *progress.event;
  if (!event.restarting() || event.attempt() < status.attempt()) return {};
  const v1alpha1::FailurePolicy& policy = spec.failure_policy();
  const std::string suspect =
      event.has_suspect_node() ? machine_of(pods, event.suspect_node(), event.attempt()) : "";
  // A pod that is leaving may be another than the one that was lost.
  const PodView* pod = lost_pod(pods, event.attempt(), Among::kEnded, now);
  if (may_be_a_pods_end(event, pods)) {
    if (const LookAgain wait = wait_for_end(progress, pod, now)) return {{.look_again = wait}};
  }
  const bool is_evicted = pod != nullptr && pod->evicted;
  const std::string told = event.message().substr(0, event.message().find(';'));
  if (event.reason() == reasons::kPreempted && !is_evicted)
    return judge_end_of_pod(policy, status, {.reason = reasons::kPreempted}, told, event.attempt(), now);
  if (!policy::is_of_pods(event.reason())) {
    FailureVerdict verdict = judge_rank_failure(policy, status, event, now);
    verdict.machine = suspect;
    return verdict;
  }
  if (pod == nullptr) pod = lost_pod(pods, event.attempt(), Among::kEndedOrLeaving, now);
  const Loss loss{.pod = pod, .by_silence = has_silent_pod(progress, pods, agent_patience), .told = told};
  FailureVerdict verdict = judge_loss(policy, status, loss, event.attempt(), now);
  const bool is_silent = pod == nullptr && progress.attempt <= event.attempt();
  if (is_silent) verdict.machine = suspect;
  return verdict;
}

void count_told_restarts(const v1alpha1::FailurePolicy& policy, const JobProgress& progress,
                         const std::vector<PodView>& pods, int attempt, TimePoint now,
                         v1alpha1::JobStatus& status) {
  for (const v1alpha1::EndedAttempt& ended : progress.ended) {
    if (ended.attempt() < status.attempt() || ended.attempt() >= attempt) continue;
    FailureVerdict verdict{{}, ended.attempt() + 1, ended.counts()};
    if (policy::is_of_pods(ended.reason())) {
      verdict =
          judge_end_of_pod(policy, status, {.reason = ended.reason()}, ended.reason(), ended.attempt(), now);
    } else if (ended.has_suspect_node()) {
      verdict.machine = machine_of(pods, ended.suspect_node(), ended.attempt());
    }
    count_restart(policy, verdict, now, status);
  }
  if (attempt > status.attempt()) status.set_attempt(attempt);
}

}  // namespace caravan::controller
