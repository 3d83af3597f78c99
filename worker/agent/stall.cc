#include "worker/agent/stall.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::agent {
namespace {

using v1alpha1::RankActivity;

constexpr std::size_t kMostNamed = 3;
constexpr std::size_t kMostGroups = 6;
// Whose own work began later is not what the others have waited for all the time.
constexpr double kShareOfStall = 0.5;

bool saves(const RankAnswer& answer) {
  return answer.activity && answer.activity->has_saving();
}

// What a volume or a start holds up says nothing of the machine.
bool is_of_machine(const RankAnswer& answer) {
  if (!answer.activity) return true;
  if (saves(answer)) return false;
  const std::string& phase = answer.activity->phase();
  return phase != "start" && phase != "restore" && phase != "data" && phase != "checkpoint";
}

// For other ranks. One whose checkpoint is still being written asks them again and again whether theirs is.
bool waits(const RankAnswer& answer) {
  return answer.activity && !saves(answer) && !answer.activity->operation().empty();
}

// Of a device the host hears once a step: it may wait for others, or be what they wait for.
bool waits_for_its_device(const RankAnswer& answer) {
  return waits(answer) && answer.activity->axis() == "device";
}

// In work of its own.
double seconds_of(const RankAnswer& answer) {
  return saves(answer) ? answer.activity->saving().seconds() : answer.activity->seconds();
}

std::string work_of(const RankAnswer& answer) {
  if (waits_for_its_device(answer)) return "waiting for its device";
  return saves(answer) ? answer.activity->saving().doing() : "in " + answer.activity->phase();
}

std::string place_of(const RankAnswer& answer) {
  return fmt::format("rank {} on node {}", answer.rank, answer.node);
}

std::string wait_of(const RankActivity& activity) {
  if (!activity.has_peer()) return fmt::format("{} over {}", activity.operation(), activity.axis());
  const char* preposition = activity.operation() == "send" ? "to" : "from";
  const std::string peer = activity.axis() == "pipeline"
                               ? fmt::format("stage {}", activity.peer())
                               : fmt::format("rank {} along {}", activity.peer(), activity.axis());
  return fmt::format("{} {} {}", activity.operation(), preposition, peer);
}

// "all_reduce over tensor (3), recv from stage 1 (4)": what most do first.
std::string counted(const std::map<std::string, int>& counts) {
  std::vector<std::pair<std::string, int>> groups(counts.begin(), counts.end());
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (std::size_t i = 0; i < std::min(groups.size(), kMostGroups); ++i)
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", groups[i].first, groups[i].second);
  if (groups.size() <= kMostGroups) return text;
  int rest = 0;
  for (std::size_t i = kMostGroups; i < groups.size(); ++i) rest += groups[i].second;
  return fmt::format("{}, others ({})", text, rest);
}

std::string joined(const std::vector<std::string>& clauses) {
  return fmt::format("{}", fmt::join(clauses, "; "));
}

class Picture {
 public:
  explicit Picture(const Stall& stall) : stall_(stall) {
    const bool hosts_wait = std::ranges::any_of(stall.answers, [](const RankAnswer& answer) {
      return waits(answer) && !waits_for_its_device(answer);
    });
    const bool somebody_works = std::ranges::any_of(
        stall.answers, [&](const RankAnswer& answer) { return !waits(answer) && holds_up_for_long(answer); });
    // Where hosts have come to the end of the step, the devices of those that have not hold them up.
    const bool all_answer = std::ranges::all_of(
        stall.answers, [](const RankAnswer& answer) { return answer.activity.has_value(); });
    const bool devices_hold_up = all_answer && hosts_wait && !somebody_works;
    for (const RankAnswer& answer : stall.answers) {
      if (!answer.activity) {
        silent_.push_back(&answer);
      } else if (waits(answer) && !(devices_hold_up && waits_for_its_device(answer))) {
        ++waiting_[wait_of(*answer.activity)];
      } else if (holds_up_for_long(answer)) {
        stuck_.push_back(&answer);
      } else {
        ++working_[saves(answer) ? "checkpoint" : answer.activity->phase()];
      }
    }
    std::stable_sort(stuck_.begin(), stuck_.end(), [](const RankAnswer* a, const RankAnswer* b) {
      return seconds_of(*a) > seconds_of(*b);
    });
  }

  // A rank that works for long holds up nobody where nobody waits for it. For a checkpoint all wait.
  std::vector<const RankAnswer*> suspects() const {
    if (!silent_.empty()) return silent_;
    const bool holds_up = !waiting_.empty() || (!stuck_.empty() && saves(*stuck_.front()));
    return holds_up ? stuck_ : std::vector<const RankAnswer*>{};
  }

  std::string text() const {
    std::vector<std::string> clauses;
    if (!silent_.empty()) clauses.push_back(silence());
    for (std::size_t i = 0; i < std::min(stuck_.size(), kMostNamed); ++i) {
      clauses.push_back(fmt::format("{} has been {} for {:.0f} s", place_of(*stuck_[i]), work_of(*stuck_[i]),
                                    seconds_of(*stuck_[i])));
    }
    if (stuck_.size() > kMostNamed)
      clauses.push_back(fmt::format("so have {} more", stuck_.size() - kMostNamed));
    if (!working_.empty())
      clauses.push_back(fmt::format("{} work in {}", total(working_), counted(working_)));
    if (!waiting_.empty()) clauses.push_back(waiting());
    return joined(clauses);
  }

 private:
  bool holds_up_for_long(const RankAnswer& answer) const {
    return answer.activity && seconds_of(answer) >= kShareOfStall * stall_.silent_seconds;
  }

  static int total(const std::map<std::string, int>& counts) {
    int all = 0;
    for (const auto& [what, count] : counts) all += count;
    return all;
  }

  std::string silence() const {
    if (silent_.size() == 1) return place_of(*silent_.front()) + " does not answer";
    std::string names;
    for (std::size_t i = 0; i < std::min(silent_.size(), kMostNamed); ++i)
      names += fmt::format("{}{}", i == 0 ? "" : ", ", place_of(*silent_[i]));
    if (silent_.size() > kMostNamed) names += fmt::format(" and {} more", silent_.size() - kMostNamed);
    return names + " do not answer";
  }

  std::string waiting() const {
    const int count = total(waiting_);
    const bool is_all = count == static_cast<int>(stall_.answers.size());
    const std::string who = is_all ? fmt::format("all {} ranks wait", count)
                                   : fmt::format("{} {}", count, count == 1 ? "other waits" : "others wait");
    return fmt::format("{} in {}", who, counted(waiting_));
  }

  const Stall& stall_;
  std::vector<const RankAnswer*> silent_;
  std::vector<const RankAnswer*> stuck_;  // in work of their own or their device's, the longest first
  std::map<std::string, int> working_;    // ranks by what they do; those that began it lately
  std::map<std::string, int> waiting_;    // ranks by what they wait in
};

std::string length_of(const Stall& stall) {
  const std::string since = stall.last_step > 0 ? fmt::format("after step {}", stall.last_step)
                                                : fmt::format("since attempt {} began", stall.attempt);
  const int seconds = static_cast<int>(stall.silent_seconds);
  if (!stall.usual_step_seconds)
    return fmt::format("no step finished for {} s (stallTimeoutSeconds) {}", seconds, since);
  return fmt::format("no step finished for {} s {} (steps take {:.2g} s)", seconds, since,
                     *stall.usual_step_seconds);
}

std::string advice_for(const Stall& stall, const std::vector<const RankAnswer*>& suspects) {
  if (!suspects.empty() && saves(*suspects.front()))
    return "see whether the volume of spec.checkpoint.path answers on that node, and what it is busy with";
  if (!suspects.empty()) return "look into the log of that rank, and at its machine";
  if (stall.usual_step_seconds) return "check the network between the nodes";
  return "if steps take that long, raise stallTimeoutSeconds";
}

// One that has hung in asking the others for as long waits for them, and not for its part of a checkpoint.
Stall with_parts_that_hold_up(Stall stall) {
  for (RankAnswer& answer : stall.answers) {
    const bool has_hung = saves(answer) && !answer.activity->operation().empty() &&
                          answer.activity->seconds() >= kShareOfStall * stall.silent_seconds;
    if (has_hung) answer.activity->clear_saving();
  }
  return stall;
}

}  // namespace

Failure describe_stall(const Stall& told) {
  const Stall stall = with_parts_that_hold_up(told);
  const Picture picture(stall);
  const std::vector<const RankAnswer*> suspects = picture.suspects();
  Failure failure{.reason = reasons::kStalled,
                  .what = leave_room(fmt::format("{}: {}", length_of(stall), picture.text())),
                  .advice = advice_for(stall, suspects)};
  if (suspects.empty()) return failure;
  failure.rank = suspects.front()->rank;
  const int node = suspects.front()->node;
  const bool on_one_node = std::all_of(suspects.begin(), suspects.end(), [node](const RankAnswer* answer) {
    return answer->node == node && is_of_machine(*answer);
  });
  if (on_one_node) failure.suspect_node = node;
  return failure;
}

}  // namespace caravan::agent
