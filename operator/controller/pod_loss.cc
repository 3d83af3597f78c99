#include "operator/controller/pod_loss.h"

#include <fmt/format.h>

#include "operator/api/names.h"
#include "operator/controller/machine_policy.h"
#include "policy/failure_policy.h"

namespace caravan::controller {
namespace {

bool has_left(const PodView& pod) {
  return pod.ended() && pod.exit_code == static_cast<int>(ExitCode::kLeft);
}

}  // namespace

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
  if (pod.gone_by && failed_by_machine(pod))
    return fmt::format("pod {} did not start on machine {} within {} minutes", pod.name, pod.machine,
                       kStartsWithin.count());
  if (pod.gone_by) return fmt::format("pod {} was deleted", pod.name);
  return fmt::format("pod {} failed{}{}", pod.name, pod.last_words.empty() ? "" : ": ", pod.last_words);
}

std::string reason_of(const Loss& loss) {
  const bool never_ran = loss.pod != nullptr && loss.pod->gone_by && loss.pod->phase == PodPhase::kPending;
  // A machine that evicts a pod tells its agent to end first.
  const bool was_told_to_end = loss.pod != nullptr && has_left(*loss.pod) && !loss.pod->evicted;
  if (loss.pod != nullptr && (loss.pod->disrupted || was_told_to_end || never_ran))
    return reasons::kPreempted;
  if (loss.pod != nullptr && loss.pod->out_of_memory) return reasons::kOutOfMemory;
  return reasons::kPodLost;
}

bool ended_by_itself(const PodView& pod) {
  return pod.ended() && pod.exit_code && *pod.exit_code < policy::kSignalExitCode && !pod.disrupted &&
         !has_left(pod);
}

std::optional<TimePoint> ended_at(const PodView& pod, TimePoint now) {
  const bool is_ahead = pod.finished_at && *pod.finished_at > now + kMostClockSkew;
  return is_ahead ? std::nullopt : pod.finished_at;
}

bool may_still_save(const PodView& pod, TimePoint now) {
  return pod.leaving() && pod.holds_machine(now);
}

bool holds_machines(const std::vector<PodView>& pods, TimePoint now) {
  return std::ranges::any_of(pods, [now](const PodView& pod) { return pod.holds_machine(now); });
}

LookAgain until_gone(const PodView& pod, TimePoint now) {
  if (!pod.gone_by || !pod.holds_machine(now)) return std::nullopt;
  return until(*pod.gone_by + std::chrono::seconds(1), now);
}

LookAgain until_gone(const std::vector<PodView>& pods, TimePoint now) {
  LookAgain first;
  for (const PodView& pod : pods) first = sooner(first, until_gone(pod, now));
  return first;
}

std::unordered_map<int, const PodView*> newest_by_node(const std::vector<PodView>& pods) {
  std::unordered_map<int, const PodView*> newest;
  for (const PodView& pod : pods) {
    const PodView*& best = newest[pod.node];
    if (best == nullptr || std::pair(pod.alive(), pod.attempt) >= std::pair(best->alive(), best->attempt))
      best = &pod;
  }
  return newest;
}

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

}  // namespace caravan::controller
