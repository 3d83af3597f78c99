// The events of a job: what changed between two statuses, in the words of its conditions. Pure.
#pragma once

#include <vector>

#include "operator/controller/effects.h"

namespace caravan::controller {

std::vector<Note> story_of(const v1alpha1::JobStatus& before, const v1alpha1::JobStatus& after);

}  // namespace caravan::controller
