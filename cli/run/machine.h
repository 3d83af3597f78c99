// What this machine offers to a job: cores, free memory, GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/result.h"

namespace caravan::cli {

struct Machine {
  int cores = 1;  // that this process may use
  int64_t available_memory_bytes = 0;
  int gpus = 0;
};

Result<Machine> inspect_machine();

// MemAvailable of /proc/meminfo's text.
std::optional<int64_t> available_memory(std::string_view meminfo);

}  // namespace caravan::cli
