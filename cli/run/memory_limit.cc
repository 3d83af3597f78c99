#include "cli/run/memory_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "common/file_contents.h"

namespace caravan::cli {
namespace {

namespace fs = std::filesystem;

// The file in the group and in each one above it, up to the root.
void add_levels(std::string_view mount, std::string_view file, std::string group,
                std::vector<std::string>& files) {
  while (!group.empty() && group != "/") {
    files.push_back(fmt::format("{}{}/{}", mount, group, file));
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
  files.push_back(fmt::format("{}/{}", mount, file));
}

}  // namespace

// Lines are `number:controllers:path`; version 2 has number 0 and no controllers.
std::vector<std::string> limit_files(std::string_view cgroups) {
  std::vector<std::string> files;
  std::istringstream lines{std::string(cgroups)};
  for (std::string number, controllers, path; std::getline(lines, number, ':') &&
                                              std::getline(lines, controllers, ':') &&
                                              std::getline(lines, path);) {
    if (controllers.empty()) add_levels("sys/fs/cgroup", "memory.max", path, files);
    if (fmt::format(",{},", controllers).find(",memory,") != std::string::npos)
      add_levels("sys/fs/cgroup/memory", "memory.limit_in_bytes", path, files);
  }
  return files;
}

std::optional<int64_t> parse_limit(std::string_view text) {
  int64_t bytes = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), bytes).ec != std::errc()) return std::nullopt;
  return bytes;
}

std::optional<int64_t> total_memory(std::string_view meminfo) {
  constexpr std::string_view kKey = "MemTotal:";
  const std::size_t key = meminfo.find(kKey);
  if (key == std::string_view::npos) return std::nullopt;
  std::string_view rest = meminfo.substr(key + kKey.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const std::optional<int64_t> kibibytes = parse_limit(rest);
  if (!kibibytes) return std::nullopt;
  return *kibibytes * 1024;
}

Result<int64_t> memory_limit(const fs::path& root) {
  const std::optional<int64_t> total = total_memory(file_contents(root / "proc/meminfo").value_or(""));
  if (!total) return failure("/proc/meminfo: does not say how much memory the machine has");
  int64_t smallest = *total;
  for (const std::string& file : limit_files(file_contents(root / "proc/self/cgroup").value_or(""))) {
    smallest = std::min(smallest, parse_limit(file_contents(root / file).value_or("")).value_or(smallest));
  }
  return smallest;
}

}  // namespace caravan::cli
