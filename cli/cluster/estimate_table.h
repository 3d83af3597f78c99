// What a job is foreseen to take on several numbers of devices, side by side. Pure.
#pragma once

#include <string>

#include "caravan/v1alpha1/estimate.pb.h"

namespace caravan::cli {

// A line for each, then the reason of each that does not fit. Columns that nobody knows anything of are left
// out; times are in UTC. width: of the terminal, in columns.
std::string estimate_table(const v1alpha1::EstimateJobResponse& response, int width);

// "8 devices", "1 device".
std::string count_text(int devices);

}  // namespace caravan::cli
