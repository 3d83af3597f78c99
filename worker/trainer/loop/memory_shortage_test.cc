#include "worker/trainer/loop/memory_shortage.h"

#include <gtest/gtest.h>

namespace caravan::trainer {
namespace {

constexpr int64_t kMiB = 1 << 20;

const MemoryBreakdown kPlanned{
    .parameters = 4 * kMiB, .gradients = 4 * kMiB, .activations = 16 * kMiB, .workspace = 2 * kMiB};

TEST(MemoryShortage, NamesTheUseThatGrewPastItsPlanTheMost) {
  MemoryBreakdown peak = kPlanned;
  peak.activations += 8 * kMiB;
  peak.workspace += kMiB;
  EXPECT_EQ(describe_shortage(peak, kPlanned, "cannot allocate"),
            "no memory for 35.0 MiB of 26.0 MiB planned; activations grew past their plan (24.0 MiB of "
            "16.0 MiB planned): cannot allocate");
}

TEST(MemoryShortage, TellsThatUseByTheNameOfItsTerm) {
  MemoryBreakdown peak = kPlanned;
  peak.optimizer += 3 * kMiB;
  peak.workspace += kMiB;
  const auto shortage = find_shortage(peak, kPlanned);
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->term, "optimizer");
  EXPECT_EQ(shortage->planned_bytes, 0);
  EXPECT_EQ(shortage->used_bytes, 3 * kMiB);
}

TEST(MemoryShortage, TellsNoUseThatIsAsNearToItsPlanAsPredictionsAre) {
  MemoryBreakdown peak = kPlanned;
  peak.activations += kMiB / 2;
  EXPECT_FALSE(find_shortage(peak, kPlanned));
  EXPECT_FALSE(find_shortage(peak, std::nullopt)) << "nobody can say what was planned";
}

TEST(MemoryShortage, SaysSoWhereAllStayedWithinTheirPlan) {
  EXPECT_EQ(describe_shortage({.parameters = 4 * kMiB + 8}, kPlanned, "cannot allocate"),
            "no memory for 4.0 MiB of 26.0 MiB planned; no use of it grew past its plan: the device has "
            "less than the plan counts on, or others have taken of it: cannot allocate");
}

TEST(MemoryShortage, OfAJobThatNobodyCanPlanSaysWhatWasHeld) {
  EXPECT_EQ(describe_shortage({.parameters = 4 * kMiB}, std::nullopt, "cannot allocate"),
            "no memory for 4.0 MiB: cannot allocate");
}

}  // namespace
}  // namespace caravan::trainer
