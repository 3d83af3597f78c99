// The ConfigMap with a job's plan, which its agents read.
//
// It is made from the job and its status, and never read as truth: of what others may have written into it
// only a fingerprint is kept, to see whether it must be written again. Pure.
#pragma once

#include <string>

#include "operator/api/job_object.h"
#include "operator/controller/settings.h"

namespace caravan::controller {

kube::Json plan_intent(const Job& job, const std::string& plan, const Settings& settings);

// SHA-256 of the content that is ours; other keys are nobody's concern. Takes an object as the API server
// sends it, and one that trim_plan_object has been through.
std::string fingerprint_of(const kube::Json& config_map);

// What observing a ConfigMap needs: whose it is, the fingerprint, and the one it was written with.
kube::Json trim_plan_object(const kube::Json& config_map);

}  // namespace caravan::controller
