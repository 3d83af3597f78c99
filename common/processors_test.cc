#include "common/processors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/testing/temporary_folder.h"

namespace caravan {
namespace {

using testing::ElementsAre;
using testing::IsSupersetOf;

TEST(Processors, AreThoseOfTheMachineInTheOrderOfItsCores) {
  const std::vector<int> allowed = allowed_processors();
  ASSERT_FALSE(allowed.empty());
  EXPECT_GE(usable_processors(), 1);
  EXPECT_LE(usable_processors(), static_cast<int>(allowed.size()));

  // A machine on which every other processor is the second thread of the one before, from the last to the
  // first.
  const test::TemporaryFolder machine;
  for (const int processor : allowed) {
    const std::string folder = fmt::format("sys/devices/system/cpu/cpu{}/topology/", processor);
    machine.write(folder + "physical_package_id", fmt::format("{}\n", processor % 2 == 0 ? 1 : 0));
    machine.write(folder + "core_id", fmt::format("{}\n", 100'000 - processor / 2));
  }
  std::vector<int> expected;
  for (const int parity : {1, 0}) {
    const std::size_t begin = expected.size();
    std::ranges::copy_if(allowed, std::back_inserter(expected), [&](int one) { return one % 2 == parity; });
    std::ranges::sort(expected.begin() + static_cast<std::ptrdiff_t>(begin), expected.end(), std::greater());
  }
  EXPECT_EQ(allowed_processors(machine.path()), expected);
}

TEST(Processors, AreSharedOutInNeighboursAndNoneTwice) {
  struct Case {
    std::vector<int> processors;
    int parts;
    std::vector<std::vector<int>> shares;
  };
  const std::vector<Case> cases = {
      {{0, 1, 2, 3}, 2, {{0, 1}, {2, 3}}},
      {{0, 4, 1, 5, 2}, 2, {{0, 4}, {1, 5, 2}}},
      {{3, 7, 8}, 3, {{3}, {7}, {8}}},
      {{3}, 1, {{3}}},
      {{3}, 2, {{}, {3}}},
  };
  for (const Case& one : cases) EXPECT_EQ(share_out(one.processors, one.parts), one.shares);
}

class ProcessorQuota : public ::testing::Test {
 protected:
  void be_in_group(const std::string& line) { machine_.write("proc/self/cgroup", line + "\n"); }
  void limit(const std::string& file, const std::string& text) {
    machine_.write("sys/fs/cgroup/" + file, text + "\n");
  }
  std::optional<double> found() const { return processor_quota(machine_.path()); }

  test::TemporaryFolder machine_;
};

TEST_F(ProcessorQuota, IsNoneWhereNobodyLimitsTime) {
  EXPECT_EQ(found(), std::nullopt);
  be_in_group("0::/session");
  limit("session/cpu.max", "max 100000");
  EXPECT_EQ(found(), std::nullopt);
}

TEST_F(ProcessorQuota, IsTheSmallestOfTheGroupsAboveInVersion2) {
  be_in_group("0::/kubepods/pod7/worker");
  limit("kubepods/pod7/worker/cpu.max", "max 100000");
  limit("kubepods/pod7/cpu.max", "150000 100000");
  limit("kubepods/cpu.max", "400000 100000");
  EXPECT_EQ(found(), 1.5);
}

TEST_F(ProcessorQuota, IsTheSmallestOfTheGroupsAboveInVersion1) {
  be_in_group("4:cpu,cpuacct:/docker/c1");
  limit("cpu/docker/c1/cpu.cfs_quota_us", "200000");
  limit("cpu/docker/c1/cpu.cfs_period_us", "50000");
  limit("cpu/docker/cpu.cfs_quota_us", "-1");
  limit("cpu/docker/cpu.cfs_period_us", "100000");
  EXPECT_EQ(found(), 4);
}

}  // namespace
}  // namespace caravan
