// A volume that a job has to name on a cluster. Pure.
#pragma once

#include <string>

#include "caravan/v1alpha1/job.pb.h"

namespace caravan::controller {

// What a pod reads or writes beside its data; the schema cannot ask for a claim that local mode has not.
// Empty: nothing is missing.
std::string missing_claim(const v1alpha1::JobSpec& spec);

}  // namespace caravan::controller
