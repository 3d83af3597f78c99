// What may go wrong with a job that can be planned. Pure.
#pragma once

#include <string>
#include <vector>

#include "planner/request.h"
#include "planner/search/candidate.h"

namespace caravan::planner {

// Whole sentences that begin with the field. candidate: the one that the job would have; null where there is
// none.
std::vector<std::string> warnings_for(const PlanRequest& request, const EvaluatedLayout* candidate);

}  // namespace caravan::planner
