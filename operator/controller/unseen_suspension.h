// A suspension between two looks at a job, in which its user changed what pods and queue follow from: nobody
// saw it, and pods and Workload of before must go all the same. Until all pods are on their way what was
// asked for before is remembered, however often the operator is interrupted.
//
// The API server lets worker and scheduling change in a suspension only, so a new generation of the job that
// asks for something else than was seen last had one. What another version of the operator saw, or of the
// definition within a generation, may be the same spec, which it reads otherwise, and says nothing. Pure.
#pragma once

#include <string>
#include <vector>

#include "operator/api/job_object.h"
#include "operator/view/pod_view.h"

namespace caravan::controller {

// What the job asks for of its pods and its queue, to be remembered as status.askedFor.
std::string fingerprint_of_wishes(const Job& job);

// False where the status remembers none, as that of an operator before this one.
bool missed_suspension(const Job& job);
// Whether what the job asks for now may take the place of what is remembered. job: as it is decided on.
bool forgets_former_wishes(const Job& job, const std::vector<PodView>& pods);

}  // namespace caravan::controller
