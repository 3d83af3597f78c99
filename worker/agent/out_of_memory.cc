#include "worker/agent/out_of_memory.h"

#include <sstream>
#include <vector>

#include "common/file_contents.h"

namespace caravan::agent {
namespace {

// Path of this process in the hierarchy whose line of /proc/self/cgroup contains `controller`.
std::string cgroup_path(const std::string& table, std::string_view controller) {
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    if (const auto at = line.find(controller); at != std::string::npos)
      return line.substr(at + controller.size());
  }
  return "";
}

}  // namespace

std::optional<std::int64_t> parse_oom_kills(std::string_view text) {
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    std::int64_t count = 0;
    if (word == "oom_kill" && words >> count) return count;
  }
  return std::nullopt;
}

std::optional<std::int64_t> read_oom_kills() {
  const std::string table = file_contents("/proc/self/cgroup").value_or("");
  const std::vector<std::string> candidates = {
      "/sys/fs/cgroup" + cgroup_path(table, "0::") + "/memory.events",
      "/sys/fs/cgroup/memory.events",
      "/sys/fs/cgroup/memory" + cgroup_path(table, ":memory:") + "/memory.oom_control",
      "/sys/fs/cgroup/memory/memory.oom_control",
      "/proc/vmstat",
  };
  for (const std::string& path : candidates) {
    const auto text = file_contents(path);
    if (!text) continue;
    if (const auto count = parse_oom_kills(*text)) return count;
  }
  return std::nullopt;
}

}  // namespace caravan::agent
