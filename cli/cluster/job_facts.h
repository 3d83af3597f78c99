// What the cluster holds of a job, as far as its user may read it.
#pragma once

#include "cli/cluster/cluster.h"
#include "cli/cluster/job_description.h"

namespace caravan::cli {

// The job with its pods and events. What cannot be read is left out, which standard error tells.
JobFacts read_facts(Cluster& cluster, const kube::Json& job);

// A part of the whole: where it cannot be read, standard error tells why.
std::optional<kube::JsonArray> readable_part(Result<kube::JsonArray> found, const char* what);

}  // namespace caravan::cli
