// Which cluster, whose rights and which namespace: the options that every command on a cluster has. Those of
// the kubeconfig have kubectl's names and defaults; with --server the job service is asked instead of the API
// server.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace caravan::cli {

struct ServiceOptions {
  std::string address;      // HOST:PORT; empty: the API server is asked
  std::string root_file;    // empty: fetched with the kubeconfig
  std::string server_name;  // of the certificate; empty: the address's host
  std::string token_file;   // empty: $CARAVAN_TOKEN, else the kubeconfig's
};

struct ClusterOptions {
  std::string kubeconfig;  // empty: $KUBECONFIG, else ~/.kube/config
  std::string context;     // empty: the current one
  std::string name_space;  // empty: the context's
  ServiceOptions service;
  bool at_once = false;  // for somebody who waits at the keyboard: asked once, for two seconds
};

// What the environment says of the job service where no option does.
inline constexpr const char* kServerVariable = "CARAVAN_SERVER";
inline constexpr const char* kRootVariable = "CARAVAN_ROOT_FILE";
inline constexpr const char* kServerNameVariable = "CARAVAN_SERVER_NAME";
inline constexpr const char* kTokenVariable = "CARAVAN_TOKEN";
inline constexpr const char* kTokenFileVariable = "CARAVAN_TOKEN_FILE";

// Declares --kubeconfig and --context.
void add_kubeconfig_options(CLI::App& command, ClusterOptions& options);
// Those, -n, and --server with what belongs to it.
void add_cluster_options(CLI::App& command, ClusterOptions& options);

// The positional argument that names a job, which shells complete with the names of jobs; or several.
inline constexpr const char* kJobArgument = "JOB";
CLI::Option* add_job_argument(CLI::App& command, std::string& name);
CLI::Option* add_jobs_argument(CLI::App& command, std::vector<std::string>& names);

}  // namespace caravan::cli
