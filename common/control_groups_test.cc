#include "common/control_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace caravan {
namespace {

using testing::ElementsAre;

std::vector<std::string> folders(std::string_view table, std::string_view controller) {
  std::vector<std::string> all;
  for (const ControlGroup& group : control_groups(table, controller)) all.push_back(group.folder);
  return all;
}

TEST(ControlGroups, AreThoseOfTheControllerAndAllAbove) {
  constexpr char kTable[] =
      "12:cpu,cpuacct:/one/two\n7:memory:/docker/c1\n1:name=systemd:/init\n0::/session\n";
  EXPECT_THAT(folders(kTable, "memory"),
              ElementsAre("sys/fs/cgroup/memory/docker/c1", "sys/fs/cgroup/memory/docker",
                          "sys/fs/cgroup/memory", "sys/fs/cgroup/session", "sys/fs/cgroup"));
  EXPECT_THAT(folders(kTable, "cpu"),
              ElementsAre("sys/fs/cgroup/cpu/one/two", "sys/fs/cgroup/cpu/one", "sys/fs/cgroup/cpu",
                          "sys/fs/cgroup/session", "sys/fs/cgroup"));
  EXPECT_THAT(folders(kTable, "cpuset"), ElementsAre("sys/fs/cgroup/session", "sys/fs/cgroup"));
}

TEST(ControlGroups, OfAPathThatIsTheRootAreTheRoot) {
  EXPECT_THAT(folders("0::/", "cpu"), ElementsAre("sys/fs/cgroup"));
  EXPECT_THAT(folders("", "cpu"), ElementsAre());
}

}  // namespace
}  // namespace caravan
