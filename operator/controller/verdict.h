// What a policy says, in one form for all: how the decision goes on, and which conditions, effects and next
// look follow. Policies that have more to say add to it.
#pragma once

#include <string>
#include <vector>

#include "operator/api/conditions.h"
#include "operator/api/names.h"
#include "operator/controller/effects.h"
#include "operator/controller/look_again.h"

namespace caravan::controller {

struct Verdict {
  enum class Course {
    kGoesOn,    // with the policies that come after
    kWaits,     // no pod is made; what runs goes on
    kStops,     // pods end, behind a checkpoint where the job has some, and none is made
    kRestarts,  // the gang
    kCompletes,
    kFails,
  };

  Course course = Course::kGoesOn;
  std::string reason = {};  // of the condition that tells of it
  std::string message = {};
  std::vector<ConditionChange> conditions = {};
  std::vector<Effect> effects = {};
  LookAgain look_again = {};
};

// Has the conditions say that the gang starts again, with the verdict's message.
inline void announce_restart(const std::string& reason, Verdict& verdict) {
  verdict.conditions.push_back(set_condition(conditions::kRestarting, true, reason, verdict.message));
  verdict.conditions.push_back(
      clear_condition(conditions::kRunning, reasons::kRendezvous, "the gang is being started again"));
}

}  // namespace caravan::controller
