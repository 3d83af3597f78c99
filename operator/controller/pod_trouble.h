// How far the pods of a job are, and why one does not start, in words that its user can act on: what the
// scheduler and the kubelet say, and what to do about it. Pure.
#pragma once

#include <string>
#include <vector>

#include "operator/controller/snapshot.h"
#include "operator/controller/verdict.h"

namespace caravan::controller {

// For the condition Scheduled.
struct PlacementVerdict {
  bool all_bound = false;
  std::string message = {};
  std::string trouble = {};  // the first thing that holds a pod up
  bool gated = false;        // and this is that somebody keeps the pod from the scheduler
  LookAgain look_again = {};
};
PlacementVerdict judge_placement(const Snapshot& snapshot, int nodes, TimePoint now);

}  // namespace caravan::controller
