// The traces of all ranks as one, in which the viewers of the Trace Event Format show a process for each
// stage and a thread for each rank. Pure.
#pragma once

#include <vector>

#include "caravan/v1alpha1/trace.pb.h"

namespace caravan::cli {

// traces: of the ranks of one machine, whose times are of one clock. Times begin at 0; a stage is named once.
v1alpha1::RankTrace merged(const std::vector<v1alpha1::RankTrace>& traces);

}  // namespace caravan::cli
