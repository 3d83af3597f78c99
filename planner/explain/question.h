// A question about one layout, as `caravan plan --why` takes it: "tensor=4,pipeline=2". The keys are those of
// spec.parallelism; what the question leaves out stays as the job has it, or open.
#pragma once

#include <string>

#include "common/result.h"
#include "planner/request.h"

namespace caravan::planner {

// The request with the question's choices in place of the job's. Bad input names the key or value that is
// wrong, and the keys that there are.
Result<PlanRequest> ask_about(PlanRequest request, const std::string& question);

}  // namespace caravan::planner
