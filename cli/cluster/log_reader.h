// Reads the log of one node of a job, pod after pod: when an attempt ends, the next one's pod is gone on
// with.
//
// A stream that breaks is opened again at the byte where it was (operator/view/log_scanner.h). Where what
// came next was rotated away, standard error says so, and what there is is read from its beginning. Following
// goes on while the API server or a machine does not answer, and ends where a right is missing or a stop is
// requested.
#pragma once

#include "cli/cluster/api_server.h"
#include "cli/cluster/log_question.h"

namespace caravan::cli {

Status read_log(ApiServer& server, const LogQuestion& question, const TakeLine& take);

}  // namespace caravan::cli
