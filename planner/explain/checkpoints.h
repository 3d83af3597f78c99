// How often a job will write checkpoints, and what that takes of a node's memory.
#pragma once

#include <string>

#include "caravan/v1alpha1/job.pb.h"
#include "caravan/v1alpha1/plan.pb.h"

namespace caravan::planner {

inline constexpr char kNoCheckpoints[] =
    "Without spec.checkpoint the weights are not kept, and a restart begins at the first step.";

// "Checkpoints: every 500 steps, about every 7m36s.", or the sentence above; ends with a newline.
std::string checkpoints_text(const v1alpha1::JobSpec& spec, const v1alpha1::Plan& plan, int width = 100);

// A sentence where a node's copies of a checkpoint, and what its ranks take beside them, are more than its
// pods may have; empty where they fit, and where nobody said how much that is.
std::string checkpoints_trouble(const v1alpha1::JobSpec& spec, const v1alpha1::Plan& plan);

}  // namespace caravan::planner
