#include "cli/run/machine.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

namespace caravan::cli {
namespace {

constexpr const char* kMeminfo = "/proc/meminfo";

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

std::optional<int64_t> available_memory(std::string_view meminfo) {
  constexpr std::string_view kKey = "MemAvailable:";
  const std::size_t key = meminfo.find(kKey);
  if (key == std::string_view::npos) return std::nullopt;
  std::string_view rest = meminfo.substr(key + kKey.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  int64_t kibibytes = 0;
  if (std::from_chars(rest.data(), rest.data() + rest.size(), kibibytes).ec != std::errc())
    return std::nullopt;
  return kibibytes * 1024;
}

Result<Machine> inspect_machine() {
  std::ifstream file(kMeminfo);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::optional<int64_t> memory = available_memory(text);
  if (!memory) return failure(std::string(kMeminfo) + ": does not say how much memory is available");
  return Machine{.cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency())),
                 .available_memory_bytes = *memory,
                 .gpus = count_gpus()};
}

}  // namespace caravan::cli
