// Which control groups limit a process, of version 1 or 2.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace caravan {

struct ControlGroup {
  std::string folder;  // without the leading slash: sys/fs/cgroup/...
  int version = 2;

  std::string file(std::string_view name) const { return folder + "/" + std::string(name); }
};

// The groups of a process that a controller such as `memory` limits, by the text of its /proc/PID/cgroup: its
// own and each one above it. Some do not exist: a container may see its own group in the place of the root.
std::vector<ControlGroup> control_groups(std::string_view table, std::string_view controller);

}  // namespace caravan
