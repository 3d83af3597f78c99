#include "operator/controller/failure_policy.h"

#include <algorithm>

#include "operator/api/conditions.h"
#include "operator/api/names.h"
#include "operator/controller/pod_loss.h"
#include "policy/failure_policy.h"

namespace caravan::controller {
namespace {

// An agent that ends by its own decision may have heard of the job's end before we do.
constexpr std::chrono::seconds kResultMayFollow{30};
constexpr std::chrono::milliseconds kAMoment{1};
// Agents learn of a new leader within about 90 s, and then tell of what they lost meanwhile.
constexpr std::chrono::seconds kToldWithin{120};

// A pod was deleted for it, or made again, by the API server's clock, which may be behind ours, or is about
// to be. One that was made shortly before counts as well: others wait for the next report then.
bool is_answered(const Absence& absence, const std::vector<PodView>& pods) {
  const TimePoint told = absence.at - kMostClockSkew;
  const auto is_on_its_way = [&](int node) {
    bool has_pod = false;
    for (const PodView& pod : pods) {
      if (pod.node != node) continue;
      if (pod.created_at > told || (pod.deleted_at && *pod.deleted_at >= told)) return true;
      has_pod = true;
    }
    return !has_pod;
  };
  return is_on_its_way(0) || std::ranges::any_of(absence.nodes, is_on_its_way);
}

using NewestPods = std::unordered_map<int, const PodView*>;

// When the coordinator has said at the latest why a pod is gone of which nothing is left: it may have been
// drained away while nobody led. Nothing where there is no coordinator.
std::optional<TimePoint> coordinator_tells_by(const NewestPods& newest, TimePoint reported_to_since) {
  const auto coordinator = newest.find(0);
  if (coordinator == newest.end() || !coordinator->second->alive()) return std::nullopt;
  return reported_to_since + kToldWithin;
}

// When what may be told of a lost pod has come; nothing: it is judged at once.
std::optional<TimePoint> word_comes_by(const PodView* pod, const NewestPods& newest,
                                       TimePoint reported_to_since, TimePoint now) {
  if (pod == nullptr) return coordinator_tells_by(newest, reported_to_since);
  const auto ended = ended_by_itself(*pod) ? ended_at(*pod, now) : std::nullopt;
  return ended ? std::optional(*ended + kResultMayFollow) : std::nullopt;
}

}  // namespace

const PodView* absent_pod(const std::optional<JobProgress>& progress, const std::vector<PodView>& pods) {
  if (!progress || !progress->absence) return nullptr;
  const Absence& absence = *progress->absence;
  if (is_answered(absence, pods)) return nullptr;
  std::vector<const PodView*> absent;
  const PodView* coordinator = nullptr;
  for (const PodView& pod : pods) {
    if (!pod.alive() || !pod.running_since || *pod.running_since + policy::kAbsentAfter > absence.at)
      continue;
    if (pod.node == 0) coordinator = &pod;
    if (std::ranges::find(absence.nodes, pod.node) != absence.nodes.end()) absent.push_back(&pod);
  }
  if (absent.empty()) return nullptr;
  return absence.of_all_others && absent.size() > 1 ? coordinator : absent.front();
}

FailureVerdict judge_losses(const v1alpha1::JobSpec& spec, const v1alpha1::JobStatus& status,
                            const std::vector<PodView>& pods, int nodes, TimePoint now,
                            TimePoint reported_to_since) {
  const bool running = is_true(status, conditions::kRunning);
  const auto newest = newest_by_node(pods);
  FailureVerdict verdict;
  for (int node = 0; node < nodes; ++node) {
    const auto found = newest.find(node);
    const PodView* pod = found == newest.end() ? nullptr : found->second;
    if (pod != nullptr && pod->alive()) continue;
    const bool of_this_attempt = pod != nullptr && pod->attempt == status.attempt();
    if (!running && !of_this_attempt) continue;
    if (pod != nullptr && may_still_save(*pod, now)) {
      verdict.look_again = sooner(verdict.look_again, until(*pod->gone_by + kAMoment, now));
      continue;
    }
    if (const auto at = word_comes_by(pod, newest, reported_to_since, now); at && now < *at) {
      verdict.look_again = sooner(verdict.look_again, until(*at, now));
      verdict.word_may_follow = true;
      continue;
    }
    return judge_loss(spec.failure_policy(), status, {.pod = pod, .node = node}, status.attempt(), now);
  }
  return verdict;
}

}  // namespace caravan::controller
