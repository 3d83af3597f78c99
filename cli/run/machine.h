// What this machine offers to a job: cores, memory, GPUs.
#pragma once

#include <cstdint>

#include "common/result.h"

namespace caravan::cli {

struct Machine {
  int cores = 1;             // see common/processors.h
  int64_t memory_bytes = 0;  // see cli/run/memory_limit.h
  int gpus = 0;
};

Result<Machine> inspect_machine();

}  // namespace caravan::cli
