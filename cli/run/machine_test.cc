#include "cli/run/machine.h"

#include <gtest/gtest.h>

namespace caravan::cli {
namespace {

TEST(Machine, ThisOneHasCoresAndMemory) {
  const Result<Machine> machine = inspect_machine();
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_GE(machine->cores, 1);
  EXPECT_GT(machine->memory_bytes, 0);
}

}  // namespace
}  // namespace caravan::cli
