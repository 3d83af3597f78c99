// What would stop a run after its processes have started, checked before: token files and ports.
//
// Errors have exit code 2 and name the field or flag and the file or port.
#pragma once

#include <cstdint>

#include "caravan/v1alpha1/job.pb.h"
#include "common/result.h"

namespace caravan::cli {

// Opens the token files, which stand at local paths by now; each must hold one sample at least, and those for
// validation must not be among those for training. Tokens are compared with the vocabulary in the first
// gigabyte or so; the trainer checks the rest as it reads.
Status check_token_files(const v1alpha1::JobSpec& spec, int64_t vocabulary);

// Ports first_port .. first_port + nodes - 1 of the loopback interface.
Status check_metrics_ports(int first_port, int nodes);

}  // namespace caravan::cli
