#include "operator/controller/failure_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "operator/api/names.h"
#include "operator/controller/conditions.h"

namespace caravan::controller {
namespace {

using std::chrono::seconds;
using v1alpha1::FailureRule;
using Action = LossVerdict::Action;

// An agent that ends by its own decision may have heard of the job's end before we do.
constexpr seconds kResultMayFollow{30};
// The kubelet tells of a pod's end later than the coordinator loses its agent.
constexpr seconds kEndMayFollow{10};
constexpr int kFirstSignalExitCode = 128;

struct Loss {
  const PodView* pod = nullptr;  // null: gone without a trace
  int node = 0;
  std::string told = {};  // by the coordinator
};

bool ended_by_itself(const PodView& pod) {
  return pod.ended() && pod.exit_code && *pod.exit_code < kFirstSignalExitCode && !pod.disrupted;
}

// Of each node the newest pod, living ones first.
std::unordered_map<int, const PodView*> newest_by_node(const std::vector<PodView>& pods) {
  std::unordered_map<int, const PodView*> newest;
  for (const PodView& pod : pods) {
    const PodView*& best = newest[pod.node];
    if (best == nullptr || std::pair(pod.alive(), pod.attempt) >= std::pair(best->alive(), best->attempt))
      best = &pod;
  }
  return newest;
}

std::string describe(const Loss& loss) {
  if (loss.pod == nullptr && !loss.told.empty()) return loss.told;
  if (loss.pod == nullptr) return fmt::format("the pod of node {} is gone", loss.node);
  const PodView& pod = *loss.pod;
  if (pod.disrupted) return fmt::format("pod {} was preempted or evicted", pod.name);
  if (pod.out_of_memory)
    return fmt::format("pod {} ran out of memory (worker.resources.memory limits it)", pod.name);
  if (pod.exit_code) return fmt::format("pod {} ended with exit code {}", pod.name, *pod.exit_code);
  if (pod.gone_by) return fmt::format("pod {} was deleted", pod.name);
  return fmt::format("pod {} failed{}{}", pod.name, pod.last_words.empty() ? "" : ": ", pod.last_words);
}

// What rules call it.
std::string reason_of(const Loss& loss) {
  if (loss.pod != nullptr && loss.pod->disrupted) return reasons::kPreempted;
  if (loss.pod != nullptr && loss.pod->out_of_memory) return reasons::kOutOfMemory;
  return reasons::kPodLost;
}

// What the condition Restarting calls it: of all reasons, a few.
std::string restart_reason(const std::string& reason) {
  for (const char* known : {reasons::kPreempted, reasons::kStalled, reasons::kPodLost}) {
    if (reason == known) return known;
  }
  return reasons::kRankFailed;
}

std::optional<FailureRule::Action> action_of_rules(const v1alpha1::FailurePolicy& policy,
                                                   const std::string& reason) {
  for (const FailureRule& rule : policy.rules_list()) {
    if (rule.on_exit_codes().empty() && rule.on_reason() == reason) return rule.action();
  }
  return std::nullopt;
}

LossVerdict within_budget(const v1alpha1::FailurePolicy& policy, const v1alpha1::JobStatus& status,
                          const std::string& reason, const std::string& what, TimePoint now) {
  const int used = used_restarts(policy, status, now);
  const int limit = policy.max_restarts();
  if (used >= limit) {
    return {.action = Action::kFail,
            .reason = reasons::kMaxRestartsReached,
            .message = fmt::format("{}, and {} of {} restarts are used up (failurePolicy.maxRestarts)", what,
                                   used, limit)};
  }
  return {.action = Action::kRestart,
          .reason = reason,
          .message = fmt::format("{}; it is replaced, and the gang starts again ({} of {} restarts)", what,
                                 used + 1, limit)};
}

LossVerdict judge(const v1alpha1::FailurePolicy& policy, const v1alpha1::JobStatus& status, const Loss& loss,
                  TimePoint now) {
  const std::string rule_reason = reason_of(loss);
  const std::string reason = rule_reason == reasons::kPreempted ? reasons::kPreempted : reasons::kPodLost;
  const std::string what = describe(loss);
  switch (action_of_rules(policy, rule_reason).value_or(FailureRule::Restart)) {
    case FailureRule::Fail:
      return {.action = Action::kFail,
              .reason = reasons::kFailurePolicyMatched,
              .message = fmt::format("{}, and failurePolicy.rules say to fail on {}", what, rule_reason)};
    case FailureRule::RestartIgnoringLimit:
      return {.action = Action::kRestart,
              .counts = false,
              .reason = reason,
              .message = what + "; it is replaced, and the gang starts again (not counted, by a rule)"};
    default:
      return within_budget(policy, status, reason, what, now);
  }
}

// The pod whose end explains that the coordinator lost a node; one that the cluster took away before others.
const PodView* lost_pod(const std::vector<PodView>& pods, int attempt) {
  const auto newest = newest_by_node(pods);
  const PodView* lost = nullptr;
  for (const PodView& pod : pods) {
    if (pod.alive() || pod.attempt > attempt || newest.at(pod.node) != &pod) continue;
    if (lost == nullptr || pod.disrupted) lost = &pod;
  }
  return lost;
}

// How long the pod's end is still waited for; nothing when it is known or nobody waits for it.
std::optional<std::chrono::milliseconds> wait_for_end(const JobProgress& progress, const PodView* lost,
                                                      TimePoint now) {
  const bool goes_on = progress.attempt > progress.event->attempt();
  if (lost != nullptr || goes_on || !progress.event_at) return std::nullopt;
  const TimePoint judged_at = *progress.event_at + kEndMayFollow;
  if (now >= judged_at) return std::nullopt;
  return std::chrono::ceil<std::chrono::milliseconds>(judged_at - now);
}

LossVerdict judge_rank_failure(const v1alpha1::FailurePolicy& policy, const v1alpha1::JobStatus& status,
                               const v1alpha1::JobEvent& event, TimePoint now) {
  LossVerdict verdict{
      .action = Action::kRestart, .counts = event.counts(), .reason = restart_reason(event.reason())};
  if (event.counts()) verdict = within_budget(policy, status, verdict.reason, event.message(), now);
  verdict.message = verdict.action == Action::kRestart
                        ? event.message()
                        : fmt::format("all {} restarts are used up (failurePolicy.maxRestarts): {}",
                                      policy.max_restarts(), event.message());
  return verdict;
}

bool window_is_over(const v1alpha1::FailurePolicy& policy, const v1alpha1::JobStatus& status, TimePoint now) {
  const auto start = to_time(status.restart_window_start());
  return policy.window_seconds() > 0 && start && now - *start > seconds(policy.window_seconds());
}

}  // namespace

LossVerdict judge_losses(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status,
                         const std::vector<PodView>& pods, int nodes, TimePoint now) {
  const bool running = is_true(status, conditions::kRunning);
  const auto newest = newest_by_node(pods);
  LossVerdict verdict;
  for (int node = 0; node < nodes; ++node) {
    const auto found = newest.find(node);
    const PodView* pod = found == newest.end() ? nullptr : found->second;
    if (pod != nullptr && pod->alive()) continue;
    const bool of_this_attempt = pod != nullptr && pod->attempt == status.attempt();
    if (!running && !of_this_attempt) continue;
    if (pod != nullptr && ended_by_itself(*pod) && pod->finished_at) {
      const TimePoint judged_at = *pod->finished_at + kResultMayFollow;
      if (now < judged_at) {
        verdict.look_again = std::chrono::ceil<std::chrono::milliseconds>(judged_at - now);
        continue;
      }
    }
    return judge(spec.failure_policy(), status, {.pod = pod, .node = node}, now);
  }
  return verdict;
}

LossVerdict judge_report(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status,
                         const JobProgress& progress, const std::vector<PodView>& pods, TimePoint now) {
  const v1alpha1::JobEvent& event = *progress.event;
  if (!event.restarting() || event.attempt() < status.attempt()) return {};
  const v1alpha1::FailurePolicy& policy = spec.failure_policy();
  if (event.reason() != reasons::kPodLost) return judge_rank_failure(policy, status, event, now);
  const PodView* pod = lost_pod(pods, event.attempt());
  if (const auto wait = wait_for_end(progress, pod, now)) return {.look_again = wait};
  const std::string told = event.message().substr(0, event.message().find(';'));
  return judge(policy, status, {.pod = pod, .told = told}, now);
}

int used_restarts(const v1alpha1::FailurePolicy& policy, const v1alpha1::JobStatus& status, TimePoint now) {
  return window_is_over(policy, status, now) ? 0 : status.counted_restarts();
}

void count_restarts(const v1alpha1::FailurePolicy& policy, int attempt, bool counts, TimePoint now,
                    v1alpha1::JobStatus& status) {
  const int more = attempt - status.attempt();
  if (more <= 0) return;
  status.set_attempt(attempt);
  status.set_restarts(status.restarts() + more);
  if (!counts) return;
  const bool begins = status.restart_window_start().empty() || window_is_over(policy, status, now);
  if (begins) {
    status.set_restart_window_start(to_text(now));
    status.set_counted_restarts(0);
  }
  status.set_counted_restarts(status.counted_restarts() + more);
}

}  // namespace caravan::controller
