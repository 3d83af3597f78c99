// Prints the logs of a job's nodes on standard output: one after another, or followed together; each line
// and each mistake with its node where there are several.
//
// What is wrong with one node's log keeps nobody from reading the others: each mistake is told on standard
// error, and the first one's code is the end's. All ends where standard output takes no more, which is the
// caller's to tell.
#pragma once

#include "cli/cluster/cluster.h"

namespace caravan::cli {

struct WantedLogs {
  LogQuestion question = {};  // its node is chosen here
  bool all_nodes = false;     // else that of the rank, or node 0
};

Result<ExitCode> print_logs(Cluster& cluster, const WantedLogs& wanted);

}  // namespace caravan::cli
