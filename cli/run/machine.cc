#include "cli/run/machine.h"

#include <filesystem>
#include <string>

#include "cli/run/memory_limit.h"
#include "common/processors.h"

namespace caravan::cli {
namespace {

// Device files of NVIDIA's driver: nvidia0, nvidia1, ...
int count_gpus() {
  namespace fs = std::filesystem;
  constexpr std::string_view kPrefix = "nvidia";
  std::error_code error;
  int gpus = 0;
  for (const auto& entry : fs::directory_iterator("/dev", error)) {
    const std::string name = entry.path().filename().string();
    const bool numbered = name.size() > kPrefix.size() && name.starts_with(kPrefix) &&
                          name.find_first_not_of("0123456789", kPrefix.size()) == std::string::npos;
    if (numbered) ++gpus;
  }
  return gpus;
}

}  // namespace

Result<Machine> inspect_machine() {
  const Result<int64_t> memory = memory_limit();
  if (!memory) return tl::unexpected(memory.error());
  return Machine{.cores = usable_processors(), .memory_bytes = *memory, .gpus = count_gpus()};
}

}  // namespace caravan::cli
