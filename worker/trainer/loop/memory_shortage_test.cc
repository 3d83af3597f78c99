#include "worker/trainer/loop/memory_shortage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace caravan::trainer {
namespace {

using planner::MemoryTerms;

constexpr int64_t kMiB = 1 << 20;

constexpr int64_t kDevice = 64 * kMiB;

const MemoryTerms kPlanned{.parameters = 4 * kMiB,
                           .gradients = 4 * kMiB,
                           .activations = 16 * kMiB,
                           .workspace = 2 * kMiB,
                           .overhead = 8 * kMiB};

// As a ledger counts what is planned.
MemoryTerms planned_tensors() {
  MemoryTerms tensors = kPlanned;
  tensors.overhead = 0;
  return tensors;
}

TEST(MemoryShortage, NamesTheUseThatGrewPastItsPlanTheMost) {
  MemoryTerms peak = planned_tensors();
  peak.activations += 8 * kMiB;
  peak.workspace += kMiB;
  for (const int64_t device_bytes : {int64_t{0}, kDevice}) {
    EXPECT_EQ(describe_shortage({peak, kPlanned, device_bytes}, "cannot allocate"),
              "no memory for 35.0 MiB of 26.0 MiB planned; activations grew past their plan (24.0 MiB of "
              "16.0 MiB planned): cannot allocate");
  }
}

TEST(MemoryShortage, TellsThatUseByTheNameOfItsTerm) {
  MemoryTerms peak = planned_tensors();
  peak.optimizer += 3 * kMiB;
  peak.workspace += kMiB;
  const auto shortage = find_shortage({peak, kPlanned});
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->term, "optimizer");
  EXPECT_EQ(shortage->planned_bytes, 0);
  EXPECT_EQ(shortage->used_bytes, 3 * kMiB);
  EXPECT_THAT(describe_shortage({peak, kPlanned}, "cannot allocate"),
              testing::HasSubstr("optimizer states grew past their plan (3.0 MiB of 0 B planned)"));
}

TEST(MemoryShortage, OfADeviceWhoseTensorsAreAsNearToTheirPlanAsPredictionsAreIsOverhead) {
  MemoryTerms peak = planned_tensors();
  peak.activations += kMiB / 2;
  const auto shortage = find_shortage({peak, kPlanned, kDevice});
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->term, "overhead");
  EXPECT_EQ(shortage->planned_bytes, 8 * kMiB);
  EXPECT_EQ(shortage->used_bytes, kDevice - 26 * kMiB - kMiB / 2);
  EXPECT_EQ(describe_shortage({planned_tensors(), kPlanned, kDevice}, "cannot allocate"),
            "no memory for 26.0 MiB of 26.0 MiB planned; no use of it grew past its plan: the rest of the "
            "device (38.0 MiB of 8.0 MiB planned) has gone to holes between tensors, to libraries or to "
            "others, or the device has less than the plan counts on: cannot allocate");
}

TEST(MemoryShortage, OfADeviceThatHasLessThanThePlanCountsOnIsWhatIsMissing) {
  MemoryTerms peak = planned_tensors();
  peak.activations -= 12 * kMiB;
  const auto shortage = find_shortage({peak, kPlanned, 16 * kMiB});
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->term, "overhead");
  EXPECT_EQ(shortage->used_bytes, 20 * kMiB);
}

TEST(MemoryShortage, OfAProcessorIsTheLargestGrowthHoweverSmall) {
  MemoryTerms peak = planned_tensors();
  peak.activations += kMiB / 2;
  peak.workspace += kMiB / 4;
  const auto shortage = find_shortage({peak, kPlanned});
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->term, "activations");
  EXPECT_FALSE(find_shortage({planned_tensors(), kPlanned})) << "none grew";
  EXPECT_FALSE(find_shortage({peak, std::nullopt, kDevice})) << "nobody can say what was planned";
}

TEST(MemoryShortage, SaysSoWhereAllStayedWithinTheirPlan) {
  EXPECT_EQ(describe_shortage({{.parameters = 4 * kMiB + 8}, MemoryTerms{.parameters = 26 * kMiB}},
                              "cannot allocate"),
            "no memory for 4.0 MiB of 26.0 MiB planned; no use of it grew past its plan: the machine has "
            "less than the plan counts on, or others have taken of it: cannot allocate");
}

TEST(MemoryShortage, OfAJobThatNobodyCanPlanSaysWhatWasHeld) {
  EXPECT_EQ(describe_shortage({{.parameters = 4 * kMiB}, std::nullopt}, "cannot allocate"),
            "no memory for 4.0 MiB: cannot allocate");
}

}  // namespace
}  // namespace caravan::trainer
