// A suspension between two looks at a job, in which its user changed what pods and queue follow from: nobody
// saw it, and pods and Workload of before must go all the same.
//
// The API server lets worker and scheduling change in a suspension only, so a new generation of the job that
// asks for something else than was seen last had one. Within a generation another version of operator or
// definition may read the same spec otherwise, which says nothing. Pure.
#pragma once

#include <string>

#include "operator/api/job_object.h"

namespace caravan::controller {

// What the job asks for of its pods and its queue, to be remembered as status.askedFor.
std::string fingerprint_of_wishes(const Job& job);

// False where the status remembers none, as that of an operator before this one.
bool missed_suspension(const Job& job);

}  // namespace caravan::controller
