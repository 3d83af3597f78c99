// Where a reader of a job's steps is.
#pragma once

#include <compare>

namespace caravan::controller {

// An attempt and a step of it, in the order in which they are trained; 0 and 0: before the first.
struct StepCursor {
  int attempt = 0;
  int step = 0;
  friend auto operator<=>(const StepCursor&, const StepCursor&) = default;
};

}  // namespace caravan::controller
