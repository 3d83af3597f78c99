// What a policy says of the course of a job, in the words of the condition that tells of it, and when it
// wants to be asked again.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "operator/api/job_object.h"

namespace caravan::controller {

// When the answer may change by time alone; nothing: never.
using LookAgain = std::optional<std::chrono::milliseconds>;

inline LookAgain until(TimePoint time, TimePoint now) {
  using std::chrono::milliseconds;
  return std::max(std::chrono::ceil<milliseconds>(time - now), milliseconds{1});
}

inline LookAgain sooner(LookAgain a, LookAgain b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

struct Verdict {
  enum class Course { kGoesOn, kRestarts, kCompletes, kFails };

  Course course = Course::kGoesOn;
  std::string reason = {};
  std::string message = {};
  int next_attempt = 0;            // of a restart
  bool counts = true;              // that restart, against failurePolicy.maxRestarts
  std::string machine = {};        // that may be to blame; see machine_policy.h
  bool result_may_follow = false;  // a pod ended by itself, and that may be the end of the job
  LookAgain look_again = {};
};

}  // namespace caravan::controller
