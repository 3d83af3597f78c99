#include "cli/run/machine.h"

#include <gtest/gtest.h>

namespace caravan::cli {
namespace {

TEST(Machine, ReadsTheAvailableMemory) {
  EXPECT_EQ(available_memory("MemTotal:  8000 kB\nMemAvailable:   4000 kB\nBuffers: 1 kB\n"), 4000 * 1024);
  EXPECT_EQ(available_memory("MemTotal: 8000 kB\n"), std::nullopt);
  EXPECT_EQ(available_memory("MemAvailable:"), std::nullopt);
  EXPECT_EQ(available_memory("MemAvailable: much"), std::nullopt);
}

TEST(Machine, ThisOneHasCoresAndMemory) {
  const Result<Machine> machine = inspect_machine();
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_GE(machine->cores, 1);
  EXPECT_GT(machine->available_memory_bytes, 0);
}

}  // namespace
}  // namespace caravan::cli
