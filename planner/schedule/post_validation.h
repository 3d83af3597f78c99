// Optimizer post-validation (Qi et al., arXiv 2401.10241, section 4): a stage begins a step as soon as it has
// ended the one before, and learns later how that one ended on the others. Without it no bubble is zero,
// since all stages would wait for the last one to end.
//
// Until it knows, a stage runs leading forwards only. They change nothing that cannot be thrown away (the
// last group's are no leading ones, since the loss adds to the gradients of the head; they come behind
// forwards of all stages, which have all ended the step before by then). And they need nothing but each
// other, neither for what they take nor for room for what they send: so all stages get through them, and can
// take them back together.
//
// Pure. Assumes a valid schedule.
#pragma once

#include <vector>

#include "planner/schedule/transfers.h"

namespace caravan::planner {

// By stage: so many ops at the beginning of its list.
std::vector<int> leading_forwards(const Schedule& schedule, int messages_under_way);

// The actions of one stage in one step.
struct StepActions {
  std::vector<Action> leading = {};
  std::vector<Action> rest = {};
  // In place of the rest: takes from its neighbours what their leading forwards have sent it. Then nothing is
  // under way on any stage, and leading may be run again.
  std::vector<Action> recall = {};
};

StepActions split_step(const Schedule& schedule, int stage, int messages_under_way);

}  // namespace caravan::planner
