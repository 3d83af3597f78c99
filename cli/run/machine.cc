#include "cli/run/machine.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include "cli/run/memory_limit.h"
#include "common/processors.h"
#include "common/visible_gpus.h"

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

std::vector<std::string> usable_gpus(int gpus, const std::optional<std::vector<std::string>>& visible) {
  std::vector<std::string> all;
  for (int number = 0; number < gpus; ++number) all.push_back(std::to_string(number));
  if (!visible || all.empty()) return all;
  const auto is_here = [&](const std::string& gpu) {
    const bool is_number = gpu.find_first_not_of("0123456789") == std::string::npos;
    return !is_number || std::ranges::find(all, gpu) != all.end();
  };
  return {visible->begin(), std::ranges::find_if_not(*visible, is_here)};
}

Result<Machine> inspect_machine() {
  const Result<int64_t> memory = memory_limit();
  if (!memory) return tl::unexpected(memory.error());
  return Machine{.cores = usable_processors(),
                 .memory_bytes = *memory,
                 .gpus = usable_gpus(count_gpus(), visible_gpus())};
}

}  // namespace caravan::cli
