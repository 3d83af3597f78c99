// The forms of --output in which jobs are printed.
#pragma once

#include <string>
#include <vector>

#include "cli/cluster/cluster.h"

namespace caravan::cli {

inline const std::vector<std::string> kJobForms{"text", "wide", "json", "yaml", "name"};

// With the namespace of each, when they are of all.
void print_jobs(const kube::JsonArray& jobs, const std::string& form, bool with_namespace, Clock& clock);
// One job: in json and yaml the object itself, no list.
void print_job(const kube::Json& job, const std::string& form, Clock& clock);

}  // namespace caravan::cli
