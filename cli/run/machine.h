// What this machine offers to a job: cores, memory, GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"

namespace caravan::cli {

struct Machine {
  int cores = 1;                       // see common/processors.h
  int64_t memory_bytes = 0;            // see cli/run/memory_limit.h
  std::vector<std::string> gpus = {};  // as CUDA_VISIBLE_DEVICES names them
};

// Of so many, those that are visible (common/visible_gpus.h).
std::vector<std::string> usable_gpus(int gpus, const std::optional<std::vector<std::string>>& visible);

Result<Machine> inspect_machine();

}  // namespace caravan::cli
