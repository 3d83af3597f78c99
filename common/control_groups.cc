#include "common/control_groups.h"

#include <fmt/format.h>

#include <sstream>

namespace caravan {
namespace {

// The group and each one above it, up to the root.
void add_levels(const std::string& mount, std::string group, int version, std::vector<ControlGroup>& groups) {
  while (!group.empty() && group != "/") {
    groups.push_back({mount + group, version});
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
  groups.push_back({mount, version});
}

}  // namespace

// Lines are `number:controllers:path`; version 2 has number 0 and no controllers.
std::vector<ControlGroup> control_groups(std::string_view table, std::string_view controller) {
  std::vector<ControlGroup> groups;
  std::istringstream lines{std::string(table)};
  for (std::string number, controllers, path; std::getline(lines, number, ':') &&
                                              std::getline(lines, controllers, ':') &&
                                              std::getline(lines, path);) {
    if (controllers.empty()) add_levels("sys/fs/cgroup", path, 2, groups);
    if (fmt::format(",{},", controllers).find(fmt::format(",{},", controller)) != std::string::npos)
      add_levels(fmt::format("sys/fs/cgroup/{}", controller), path, 1, groups);
  }
  return groups;
}

}  // namespace caravan
