#include "policy/memory_shortage.h"

#include <gtest/gtest.h>

namespace caravan::policy {
namespace {

v1alpha1::MemoryShortage shortage(const std::string& term, int64_t planned_bytes, int64_t used_bytes) {
  v1alpha1::MemoryShortage told;
  told.set_term(term);
  told.set_planned_bytes(planned_bytes);
  told.set_used_bytes(used_bytes);
  return told;
}

int percent_of(int64_t planned_bytes, int64_t used_bytes) {
  return correction_of(shortage("activations", planned_bytes, used_bytes), 1).value().percent();
}

TEST(CorrectionOfAShortage, IsWhatTheTermTookOfItsPlan) {
  const auto correction = correction_of(shortage("activations", 1000, 1310), 3);
  ASSERT_TRUE(correction);
  EXPECT_EQ(correction->term(), "activations");
  EXPECT_EQ(correction->percent(), 131);
  EXPECT_EQ(correction->attempt(), 3);
}

TEST(CorrectionOfAShortage, IsMadeOfWhatIsNoTensorToo) {
  const auto correction = correction_of(shortage("overhead", 1000, 4000), 1);
  ASSERT_TRUE(correction);
  EXPECT_EQ(correction->term(), "overhead");
  EXPECT_EQ(correction->percent(), 400);
}

TEST(CorrectionOfAShortage, IsRoundedUpAndHasABound) {
  EXPECT_EQ(percent_of(1000, 1001), 101);
  EXPECT_EQ(percent_of(1, INT64_MAX), 10'000);
}

TEST(CorrectionOfAShortage, IsNoneWhereNothingOfThePlanGrew) {
  EXPECT_FALSE(correction_of({}, 1));
  EXPECT_FALSE(correction_of(shortage("activations", 1000, 1000), 1));
  EXPECT_FALSE(correction_of(shortage("activations", 0, 1000), 1)) << "nothing can be scaled";
  EXPECT_FALSE(correction_of(shortage("activations", -1000, 1000), 1));
  EXPECT_FALSE(correction_of(shortage("caches", 1000, 2000), 1)) << "no term of a plan";
}

}  // namespace
}  // namespace caravan::policy
