// Names of a job's pods: "JOB-NODE-aATTEMPT". Pure.
#pragma once

#include <string>
#include <string_view>

namespace caravan::controller {

std::string pod_name(std::string_view job, int node, int attempt);

// Whether the job's pods are named like that, whatever the node and the attempt. pod: of any length, since
// events about no pod at all may be written by anybody.
bool is_pod_of(std::string_view job, std::string_view pod);

}  // namespace caravan::controller
