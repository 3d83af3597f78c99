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

using Names = std::vector<std::string>;

TEST(UsableGpus, AreAllOrThoseThatTheVariableShows) {
  EXPECT_EQ(usable_gpus(2, std::nullopt), (Names{"0", "1"}));
  EXPECT_EQ(usable_gpus(4, Names{"3", "1"}), (Names{"3", "1"}));
  EXPECT_EQ(usable_gpus(4, Names{"GPU-8932f937"}), Names{"GPU-8932f937"});
  EXPECT_EQ(usable_gpus(2, Names{"1", "2", "0"}), Names{"1"}) << "as CUDA reads it";
  EXPECT_EQ(usable_gpus(2, Names{}), Names{});
  EXPECT_EQ(usable_gpus(0, Names{"GPU-8932f937"}), Names{});
}

}  // namespace
}  // namespace caravan::cli
