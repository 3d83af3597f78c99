#include "cli/run/memory_limit.h"

#include <gtest/gtest.h>

#include "common/testing/temporary_folder.h"

namespace caravan::cli {
namespace {

// A machine of 8,192,000 bytes.
class MemoryLimit : public ::testing::Test {
 protected:
  MemoryLimit() { machine_.write("proc/meminfo", "MemTotal:  8000 kB\nMemFree:  1 kB\n"); }

  void be_in_group(const std::string& line) { machine_.write("proc/self/cgroup", line + "\n"); }
  void limit(const std::string& file, const std::string& text) {
    machine_.write("sys/fs/cgroup/" + file, text + "\n");
  }
  int64_t found() const { return memory_limit(machine_.path()).value_or(-1); }

  test::TemporaryFolder machine_;
};

TEST_F(MemoryLimit, IsTheMachinesWithoutGroups) {
  EXPECT_EQ(found(), 8'192'000);
}

TEST_F(MemoryLimit, IsTheSmallestOfTheGroupsAboveInVersion2) {
  be_in_group("0::/kubepods/pod7/worker");
  limit("kubepods/pod7/worker/memory.max", "max");
  limit("kubepods/pod7/memory.max", "3000000");
  limit("kubepods/memory.max", "5000000");
  EXPECT_EQ(found(), 3'000'000);
  limit("kubepods/pod7/worker/memory.max", "2000000");
  EXPECT_EQ(found(), 2'000'000);
}

TEST_F(MemoryLimit, IsTheSmallestOfTheGroupsAboveInVersion1) {
  be_in_group("12:cpu,cpuacct:/other\n7:memory:/docker/c1\n1:name=systemd:/init\n0::/");
  limit("memory/docker/c1/memory.limit_in_bytes", "4000000");
  limit("memory/docker/memory.limit_in_bytes", "9223372036854771712");
  limit("other/memory.max", "1");
  EXPECT_EQ(found(), 4'000'000);
}

// The path is that of the host, and the container's own group stands where the host's root would.
TEST_F(MemoryLimit, OfAContainerWithoutANamespaceOfGroupsStandsInTheRoot) {
  be_in_group("7:memory:/docker/c1");
  limit("memory/memory.limit_in_bytes", "4000000");
  EXPECT_EQ(found(), 4'000'000);
}

TEST_F(MemoryLimit, AboveTheMachinesMeansNothing) {
  be_in_group("0::/session");
  limit("session/memory.max", "9000000000");
  EXPECT_EQ(found(), 8'192'000);
}

TEST_F(MemoryLimit, UnknownMemoryIsAnError) {
  machine_.write("proc/meminfo", "MemFree: 8000 kB\nMemTotal: much\n");
  const Result<int64_t> limit = memory_limit(machine_.path());
  ASSERT_FALSE(limit);
  EXPECT_EQ(limit.error().message, "/proc/meminfo: does not say how much memory the machine has");
}

}  // namespace
}  // namespace caravan::cli
