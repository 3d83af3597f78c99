// For tests: the files that the ranks of a run would write, as values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "caravan/v1alpha1/trace.pb.h"
#include "cli/schedule/trace_reader.h"
#include "planner/schedule/simulate.h"

namespace caravan::cli::testing {

// Of the first rank of each stage, where each op takes what `times` says, after an hour of the clock. In
// seconds. tensor: ranks along the tensor axis.
std::vector<v1alpha1::RankTrace> traces_of(const planner::ScheduleSpec& spec, const planner::OpTimes& times,
                                           int tensor = 1);

// As files: path to text.
std::map<std::string, std::string> files_of(const std::vector<v1alpha1::RankTrace>& traces);

ReadFile reader_of(const std::map<std::string, std::string>& files);

}  // namespace caravan::cli::testing
