// Which cluster, whose rights and which namespace: the options that every command on a cluster has, with
// kubectl's names and defaults.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace caravan::cli {

struct ClusterOptions {
  std::string kubeconfig;  // empty: $KUBECONFIG, else ~/.kube/config
  std::string context;     // empty: the current one
  std::string name_space;  // empty: the context's
  bool at_once = false;    // for somebody who waits at the keyboard: asked once, for two seconds
};

// Declares --kubeconfig and --context.
void add_kubeconfig_options(CLI::App& command, ClusterOptions& options);
// Those and -n.
void add_cluster_options(CLI::App& command, ClusterOptions& options);

// The positional argument that names a job, which shells complete with the names of jobs; or several.
inline constexpr const char* kJobArgument = "JOB";
CLI::Option* add_job_argument(CLI::App& command, std::string& name);
CLI::Option* add_jobs_argument(CLI::App& command, std::vector<std::string>& names);

}  // namespace caravan::cli
