#include "operator/controller/story.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "operator/api/conditions.h"
#include "operator/api/names.h"
#include "operator/controller/machine_policy.h"

namespace caravan::controller {
namespace {

bool is_bad_news(const v1alpha1::Condition& condition) {
  const bool is_true = condition.status() == "True";
  if (condition.type() == conditions::kPlanned) return !is_true;
  return is_true &&
         (condition.type() == conditions::kFailed || condition.type() == conditions::kRestarting ||
          condition.type() == conditions::kStalled || condition.type() == conditions::kStraggling ||
          condition.type() == conditions::kCheckpointFailing);
}

// That something is not so any more follows from what is so now, and that a new job waits for its pods goes
// without saying.
bool is_worth_telling(const v1alpha1::Condition* before, const v1alpha1::Condition& after) {
  if (after.status() == "True" || after.type() == conditions::kPlanned) return true;
  const bool waits = after.type() == conditions::kScheduled || after.type() == conditions::kQuotaReserved;
  return waits && before != nullptr;
}

// Saves that fail and succeed by turns are one story: a job tells of each.
bool flips(const v1alpha1::Condition* before, const v1alpha1::Condition& after) {
  constexpr std::chrono::minutes kOneStory{5};
  if (before == nullptr || after.type() != conditions::kCheckpointFailing) return false;
  const auto then = to_time(before->last_transition_time());
  const auto now = to_time(after.last_transition_time());
  return then && now && *now - *then < kOneStory;
}

bool is_new(const v1alpha1::Condition* before, const v1alpha1::Condition& after) {
  if (flips(before, after)) return false;
  if (before == nullptr || before->status() != after.status() || before->reason() != after.reason())
    return true;
  const bool tells_more = after.type() == conditions::kRestarting || after.type() == conditions::kStraggling;
  return tells_more && before->message() != after.message();
}

// A queue whose topology goes down to hosts has chosen the machine itself.
Note avoidance_of(const std::string& machine, bool is_queued) {
  return {
      .type = kube::EventType::kWarning,
      .reason = reasons::kNodeAvoided,
      .action = conditions::kScheduled,
      .text = fmt::format(
          "two attempts ended by failures on node {}: the job's pods move to other nodes where these have "
          "room{}",
          machine,
          is_queued ? ", but stay where Kueue's topology names the node itself: cordon it then, and suspend "
                      "and resume the job, so that Kueue chooses another"
                    : "")};
}

}  // namespace

std::vector<Note> story_of(const v1alpha1::JobStatus& before, const v1alpha1::JobStatus& after) {
  std::vector<Note> notes;
  for (const v1alpha1::Condition& condition : after.conditions()) {
    const v1alpha1::Condition* known = find_condition(before, condition.type());
    if (!is_worth_telling(known, condition) || !is_new(known, condition)) continue;
    notes.push_back({.type = is_bad_news(condition) ? kube::EventType::kWarning : kube::EventType::kNormal,
                     .reason = condition.reason(),
                     .action = condition.type(),
                     .text = condition.message()});
  }
  const std::vector<std::string> known = avoided_machines(before);
  for (const std::string& machine : avoided_machines(after)) {
    if (!std::binary_search(known.begin(), known.end(), machine))
      notes.push_back(avoidance_of(machine, after.gang().admitted()));
  }
  return notes;
}

}  // namespace caravan::controller
