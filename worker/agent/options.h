// What an agent is told when it starts: flags, and the environment of a worker pod where a flag is absent.
//
// Errors: exit code 2, naming the flag. Host names and ports are checked here, whether a port is free is not.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/result.h"
#include "worker/agent/defaults.h"

namespace caravan::agent {

struct AgentOptions {
  std::string plan_file = "/etc/caravan/plan.json";
  int node = -1;
  std::string coordinator;  // where every agent finds the coordinator
  std::string listen;       // where the coordinator listens, node 0 only
  std::string coordinator_address_file;
  std::string reports;                 // the JobReports service; empty: progress goes to the log only
  std::string reports_authority_file;  // that signed the service's certificate; empty: no TLS
  std::string reports_token_file;
  std::string tls_folder;          // of the mutual TLS between agents; empty: none
  std::string result_file;         // gets the job's result (node 0)
  std::string metrics;             // empty: no metrics
  std::string host = "127.0.0.1";  // under which the ranks of other nodes reach this one
  std::string trainer;
  std::string work_directory;
  std::string job_uid;  // of the environment; the plan's must be the same
  // In a worker pod: others label its metrics, and a signal ends the pod, which is replaced, and not the job.
  bool in_pod = false;
  std::string incarnation;  // tells two agents of one node apart
  int first_attempt = 1;
  int restarts = 0;
  int counted_restarts = 0;
  std::chrono::seconds window_age{0};
  int short_attempts = 0;
  bool losses_judged_elsewhere = false;
  int threads = 1;
  std::vector<int> processors;  // of the machine, that this node has for itself
  std::string trace_directory;  // gets a trace of each rank; empty: none is written
  std::string tensorboard;      // gets event files (node 0); empty: in a pod, beside checkpoints
  std::chrono::milliseconds heartbeat = kHeartbeat;
  std::chrono::milliseconds patience{0};
  std::chrono::seconds rejoin_timeout = kRejoinTimeout;
  std::chrono::seconds elapsed{0};
  int end_with_parent = 0;  // process that must be this one's parent; 0: none
};

// The options, or the exit code of a program that only printed its help or version.
using ParsedOptions = std::variant<AgentOptions, ExitCode>;

ParsedOptions parse_options(int argc, const char* const* argv);

}  // namespace caravan::agent
