// What an attempt's end is blamed on: deaths of its ranks, or a cause beside them, such as a stall or a node
// that is lost.
//
// Of all ranks that died, the one that died first is to blame, and among those a rank that only lost its
// connection to another one never is when there is any other; deaths may be told in any order. A cause goes
// before all of them, but a node that leaves is not to blame where a rank failed. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "worker/agent/failure.h"

namespace caravan::agent {

class Blame {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  void add(Death death, TimePoint now);
  void set_cause(Failure cause) { cause_ = std::move(cause); }  // in place of the one before

  // Not only because others did.
  bool a_rank_failed() const { return first_death_ && !is_symptom(*first_death_); }
  bool has_cause() const { return cause_.has_value(); }
  bool is_settled() const;  // whatever else is told: by any cause but a node that leaves
  // Ranks have ended because another one did, whose end should have been told by now.
  bool is_overdue(TimePoint now) const { return cause_awaited_ && now >= *cause_awaited_; }

  // Needs a death or a cause.
  Failure failure() const;

 private:
  static bool is_symptom(const Death& death);

  std::optional<Death> first_death_;
  std::optional<TimePoint> cause_awaited_;  // of symptoms, until then
  std::optional<Failure> cause_;
};

}  // namespace caravan::agent
