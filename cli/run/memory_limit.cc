#include "cli/run/memory_limit.h"

#include <algorithm>
#include <charconv>

#include "common/control_groups.h"
#include "common/file_contents.h"

namespace caravan::cli {

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

Result<int64_t> memory_limit(const std::filesystem::path& root) {
  const std::optional<int64_t> total = total_memory(file_contents(root / "proc/meminfo").value_or(""));
  if (!total) return failure("/proc/meminfo: does not say how much memory the machine has");
  int64_t smallest = *total;
  const std::string table = file_contents(root / "proc/self/cgroup").value_or("");
  for (const ControlGroup& group : control_groups(table, "memory")) {
    const std::string file = group.file(group.version == 2 ? "memory.max" : "memory.limit_in_bytes");
    smallest = std::min(smallest, parse_limit(file_contents(root / file).value_or("")).value_or(smallest));
  }
  return smallest;
}

}  // namespace caravan::cli
