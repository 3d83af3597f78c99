#include "operator/controller/failure_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "operator/api/names.h"
#include "operator/controller/conditions.h"
#include "operator/controller/machine_policy.h"
#include "policy/failure_policy.h"

namespace caravan::controller {
namespace {

using std::chrono::seconds;
using Course = Verdict::Course;

// An agent that ends by its own decision may have heard of the job's end before we do.
constexpr seconds kResultMayFollow{30};
// The kubelet tells of a pod's end later than the coordinator loses its agent.
constexpr seconds kEndMayFollow{10};
constexpr int kFirstSignalExitCode = 128;
constexpr std::chrono::milliseconds kAMoment{1};

struct Loss {
  const PodView* pod = nullptr;  // null: gone without a trace
  int node = 0;
  std::string told = {};  // by the coordinator
};

bool has_left(const PodView& pod) {
  return pod.ended() && pod.exit_code == static_cast<int>(ExitCode::kLeft);
}

bool ended_by_itself(const PodView& pod) {
  return pod.ended() && pod.exit_code && *pod.exit_code < kFirstSignalExitCode && !pod.disrupted &&
         !has_left(pod);
}

bool may_still_save(const PodView& pod, TimePoint now) {
  return pod.leaving() && now <= *pod.gone_by;
}

void look_again_at(TimePoint time, TimePoint now, Verdict& verdict) {
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(time - now);
  if (!verdict.look_again || wait < *verdict.look_again) verdict.look_again = wait;
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
  if (pod.evicted) return fmt::format("pod {} was evicted by its machine: {}", pod.name, pod.last_words);
  if (has_left(pod)) return fmt::format("pod {} was told to end", pod.name);
  if (pod.out_of_memory)
    return fmt::format("pod {} ran out of memory (worker.resources.memory limits it)", pod.name);
  if (pod.exit_code) return fmt::format("pod {} ended with exit code {}", pod.name, *pod.exit_code);
  if (pod.gone_by) return fmt::format("pod {} was deleted", pod.name);
  return fmt::format("pod {} failed{}{}", pod.name, pod.last_words.empty() ? "" : ": ", pod.last_words);
}

// What rules call it.
std::string reason_of(const Loss& loss) {
  const bool never_ran = loss.pod != nullptr && loss.pod->gone_by && loss.pod->phase == PodPhase::kPending;
  if (loss.pod != nullptr && (loss.pod->disrupted || has_left(*loss.pod) || never_ran))
    return reasons::kPreempted;
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

// With the attempt that ends: its ranks run for as long as the condition Running is true.
int short_attempts_of(const v1alpha1::JobStatus& status, TimePoint now) {
  const v1alpha1::Condition* running = find_condition(status, conditions::kRunning);
  const bool made_step =
      is_true(status, conditions::kRunning) && running->reason() == reasons::kStepsAdvancing;
  const auto since = made_step ? to_time(running->last_transition_time()) : std::nullopt;
  const auto lasted = std::chrono::duration_cast<std::chrono::milliseconds>(now - since.value_or(now));
  return policy::short_attempts_after(status.short_attempts(), made_step, lasted);
}

policy::Budget budget_of(const v1alpha1::JobStatus& status) {
  policy::Budget budget{.used = status.counted_restarts()};
  if (const auto start = to_time(status.restart_window_start()))
    budget.window_start = policy::since_epoch(*start);
  return budget;
}

Verdict verdict_of(const policy::Decision& decision, int attempt, const std::string& reason,
                   const std::string& what) {
  return {.course = decision.restart ? Course::kRestarts : Course::kFails,
          .reason = decision.restart ? reason : decision.failed_reason,
          .message = fmt::format("{}; {}", what, decision.next),
          .next_attempt = attempt + 1,
          .counts = decision.counts};
}

Verdict judge(const v1alpha1::FailurePolicy& policy, const v1alpha1::JobStatus& status, const Loss& loss,
              int attempt, TimePoint now) {
  const policy::Failure failure{.reason = reason_of(loss),
                                .exit_code = loss.pod == nullptr ? std::nullopt : loss.pod->exit_code};
  const std::string reason = failure.reason == reasons::kPreempted ? reasons::kPreempted : reasons::kPodLost;
  const policy::Decision decision =
      failure.reason == reasons::kPodLost && is_of_a_move(attempt, status)
          ? policy::Decision{.restart = true,
                             .counts = false,
                             .next = "pods move away from a machine, which costs no restart"}
          : policy::decide(policy, failure, budget_of(status), policy::since_epoch(now));
  Verdict verdict = verdict_of(decision, attempt, reason, describe(loss));
  if (loss.pod != nullptr && failed_by_machine(*loss.pod)) verdict.machine = loss.pod->machine;
  return verdict;
}

// The pod whose end explains that the coordinator lost a node; one that the cluster took away before others.
enum class Among { kEnded, kEndedOrLeaving };

const PodView* lost_pod(const std::vector<PodView>& pods, int attempt, Among among, TimePoint now) {
  const auto newest = newest_by_node(pods);
  const PodView* lost = nullptr;
  for (const PodView& pod : pods) {
    if (pod.alive() || (among == Among::kEnded && may_still_save(pod, now))) continue;
    if (pod.attempt > attempt || newest.at(pod.node) != &pod) continue;
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

// The coordinator has applied the rules; the budget is ours.
Verdict judge_rank_failure(const v1alpha1::FailurePolicy& policy, const v1alpha1::JobStatus& status,
                           const v1alpha1::JobEvent& event, TimePoint now) {
  policy::Decision decision{.restart = true, .counts = false};
  if (event.counts())
    decision = policy::decide_by_budget(policy, budget_of(status), policy::since_epoch(now));
  Verdict verdict = verdict_of(decision, event.attempt(), restart_reason(event.reason()), event.message());
  verdict.message =
      decision.restart ? event.message() : fmt::format("{}: {}", decision.next, event.message());
  return verdict;
}

}  // namespace

Verdict judge_losses(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status,
                     const std::vector<PodView>& pods, int nodes, TimePoint now) {
  const bool running = is_true(status, conditions::kRunning);
  const auto newest = newest_by_node(pods);
  Verdict verdict;
  for (int node = 0; node < nodes; ++node) {
    const auto found = newest.find(node);
    const PodView* pod = found == newest.end() ? nullptr : found->second;
    if (pod != nullptr && pod->alive()) continue;
    const bool of_this_attempt = pod != nullptr && pod->attempt == status.attempt();
    if (!running && !of_this_attempt) continue;
    if (pod != nullptr && may_still_save(*pod, now)) {
      look_again_at(*pod->gone_by + kAMoment, now, verdict);
      continue;
    }
    if (pod != nullptr && ended_by_itself(*pod) && pod->finished_at) {
      const TimePoint judged_at = *pod->finished_at + kResultMayFollow;
      if (now < judged_at) {
        look_again_at(judged_at, now, verdict);
        verdict.result_may_follow = true;
        continue;
      }
    }
    return judge(spec.failure_policy(), status, {.pod = pod, .node = node}, status.attempt(), now);
  }
  return verdict;
}

Verdict judge_report(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status,
                     const JobProgress& progress, const std::vector<PodView>& pods, TimePoint now) {
  const v1alpha1::JobEvent& event = *progress.event;
  if (!event.restarting() || event.attempt() < status.attempt()) return {};
  const v1alpha1::FailurePolicy& policy = spec.failure_policy();
  const std::string suspect =
      event.has_suspect_node() ? machine_of(pods, event.suspect_node(), event.attempt()) : "";
  if (event.reason() != reasons::kPodLost) {
    Verdict verdict = judge_rank_failure(policy, status, event, now);
    verdict.machine = suspect;
    return verdict;
  }
  // A pod that is leaving may be another than the one that was lost.
  const PodView* pod = lost_pod(pods, event.attempt(), Among::kEnded, now);
  if (const auto wait = wait_for_end(progress, pod, now)) return {.look_again = wait};
  if (pod == nullptr) pod = lost_pod(pods, event.attempt(), Among::kEndedOrLeaving, now);
  const std::string told = event.message().substr(0, event.message().find(';'));
  Verdict verdict = judge(policy, status, {.pod = pod, .told = told}, event.attempt(), now);
  const bool is_silent = pod == nullptr && progress.attempt <= event.attempt();
  if (is_silent) verdict.machine = suspect;
  return verdict;
}

void count_restart(const v1alpha1::FailurePolicy& policy, const Verdict& restart, TimePoint now,
                   v1alpha1::JobStatus& status) {
  if (restart.next_attempt <= status.attempt()) return;
  note_failure(restart.machine, restart.next_attempt - 1, status);
  status.set_attempt(restart.next_attempt);
  status.set_restarts(status.restarts() + 1);
  status.set_short_attempts(short_attempts_of(status, now));
  if (!restart.counts) return;
  policy::Budget budget = budget_of(status);
  policy::count_restart(policy, policy::since_epoch(now), budget);
  if (budget.used == 1) status.set_restart_window_start(to_text(now));
  status.set_counted_restarts(budget.used);
}

void count_told_restarts(const v1alpha1::FailurePolicy& policy, const JobProgress& progress,
                         const std::vector<PodView>& pods, int attempt, TimePoint now,
                         v1alpha1::JobStatus& status) {
  for (const v1alpha1::EndedAttempt& ended : progress.ended) {
    if (ended.attempt() < status.attempt() || ended.attempt() >= attempt) continue;
    Verdict verdict{.next_attempt = ended.attempt() + 1, .counts = ended.counts()};
    if (ended.reason() == reasons::kPodLost) {
      verdict = judge(policy, status, {.told = reasons::kPodLost}, ended.attempt(), now);
    } else if (ended.has_suspect_node()) {
      verdict.machine = machine_of(pods, ended.suspect_node(), ended.attempt());
    }
    count_restart(policy, verdict, now, status);
  }
  if (attempt > status.attempt()) status.set_attempt(attempt);
}

}  // namespace caravan::controller
