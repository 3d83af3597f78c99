// Names of jobs for completion, which is silent: who has no cluster, or may not list jobs, gets none.
#pragma once

#include <string>
#include <vector>

#include "cli/completion/command_tree.h"

namespace caravan::cli {

// What completions call the program with, to have the names of jobs.
inline constexpr const char* kNamesCommand = "__jobs";

// words: of the command line that is being completed; its options say which namespace of which cluster.
std::vector<std::string> job_names(const std::vector<std::string>& words);

// In the form in which kubectl asks a plugin (cobra's): a candidate a line, then what else may be offered.
std::string completion_for_kubectl(const CommandTree& program, const std::vector<std::string>& words);

}  // namespace caravan::cli
