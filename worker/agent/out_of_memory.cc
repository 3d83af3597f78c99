#include "worker/agent/out_of_memory.h"

#include <sstream>

#include "common/control_groups.h"
#include "common/file_contents.h"

namespace caravan::agent {

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
  for (const ControlGroup& group : control_groups(table, "memory")) {
    const std::string file = group.file(group.version == 2 ? "memory.events" : "memory.oom_control");
    if (const auto count = parse_oom_kills(file_contents("/" + file).value_or(""))) return count;
  }
  return parse_oom_kills(file_contents("/proc/vmstat").value_or(""));
}

}  // namespace caravan::agent
