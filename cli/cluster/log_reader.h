// Reads the log of one node of a job, pod after pod: when an attempt ends, the next one's pod is gone on
// with.
//
// A stream that breaks is opened again behind its last line, by the time that the server gives each line.
// Following goes on while the API server or a machine does not answer, and ends where a right is missing.
#pragma once

#include "cli/cluster/api_server.h"
#include "cli/cluster/log_question.h"

namespace caravan::cli {

Status read_log(ApiServer& server, const LogQuestion& question, const TakeLine& take);

}  // namespace caravan::cli
