// What a policy says of the course of a job, in the words of the condition that tells of it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace caravan::controller {

struct Verdict {
  enum class Course { kGoesOn, kRestarts, kCompletes, kFails };

  Course course = Course::kGoesOn;
  std::string reason = {};
  std::string message = {};
  int next_attempt = 0;            // of a restart
  bool counts = true;              // that restart, against failurePolicy.maxRestarts
  std::string machine = {};        // that may be to blame; see machine_policy.h
  bool result_may_follow = false;  // a pod ended by itself, and that may be the end of the job
  std::optional<std::chrono::milliseconds> look_again = {};  // when the answer may change by time alone
};

}  // namespace caravan::controller
