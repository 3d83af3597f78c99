#include "planner/explain/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/engine_profile.h"
#include "planner/explain/figures.h"
#include "planner/explain/summary.h"
#include "planner/explain/table.h"

namespace caravan::planner {
namespace {

using testing::HasSubstr;
using testing::Not;

v1alpha1::JobSpec job(const std::string& preset, int devices) {
  v1alpha1::JobSpec spec;
  spec.mutable_model()->set_preset(preset);
  spec.mutable_training()->set_sequence_length(8192);
  spec.mutable_training()->set_global_batch_sequences(512);
  spec.mutable_resources()->set_devices(devices);
  spec.mutable_resources()->mutable_device()->set_product("H100-80GB");
  return spec;
}

std::string explain(const v1alpha1::JobSpec& spec, bool all = false) {
  return explain_plan(answer_job(spec, {}, default_engine_profile(), {.all_candidates = all}), all);
}

TEST(Figures, AreShort) {
  EXPECT_EQ(readable_bytes(512), "512 B");
  EXPECT_EQ(readable_bytes(64LL << 30), "64.0 GiB");
  EXPECT_EQ(readable_count(8.03e9), "8.03B");
  EXPECT_EQ(readable_seconds(0.0851), "85.1 ms");
  EXPECT_EQ(readable_seconds(12.34), "12.3 s");
}

TEST(Table, AlignsColumnsByCharactersNotBytes) {
  EXPECT_EQ(format_table({{"a"}, {"n", Align::Right}}, {{"██", "1"}, {"x", "22"}}),
            "  a    n\n  ██   1\n  x   22\n");
}

TEST(Table, LeavesOutColumnsWithoutText) {
  EXPECT_EQ(format_table({{"a"}, {"b"}, {"c"}}, {{"1", "", "3"}, {"4"}}), "  a  c\n  1  3\n  4\n");
}

TEST(Table, ABarIsAsLongAsItsShare) {
  EXPECT_EQ(bar(50, 100, 4), "██");
  EXPECT_EQ(bar(0, 100, 4), "");
  EXPECT_EQ(bar(200, 100, 4), "████");
}

TEST(ExplainPlan, SaysWhatWhyAndWhatItCosts) {
  const std::string text = explain(job("llama3-70b", 64));
  EXPECT_THAT(
      text,
      HasSubstr(
          "Plan: TP4 PP4 DP4, micro-batch size 1, 128 micro-batches per step, 1F1B, sequence parallelism on "
          "64 H100-80GB devices"));
  EXPECT_THAT(text, HasSubstr("the least splitting of the model that fits"));
  EXPECT_THAT(text, HasSubstr("Memory per device at its peak, on stage 0: "));
  EXPECT_THAT(text, HasSubstr(" % (causal "));
  EXPECT_THAT(text, HasSubstr("Memory of each stage"));
  EXPECT_THAT(text, HasSubstr("Alternatives that fit"));
  EXPECT_THAT(text, HasSubstr("times as long"));
  EXPECT_THAT(text, HasSubstr("usable: gradients "));
  EXPECT_THAT(text, HasSubstr("(--all shows them)"));
}

TEST(ExplainPlan, AllLeavesNothingOut) {
  EXPECT_THAT(explain(job("llama3-8b", 8), /*all=*/true), Not(HasSubstr("more (--all")));
}

TEST(ExplainPlan, ShowsWhatBrokeEveryLayoutWhenNothingFits) {
  const std::string text = explain(job("llama3-70b", 8));
  EXPECT_THAT(text, Not(HasSubstr("Plan:")));
  EXPECT_THAT(text, HasSubstr("Rejected"));
  EXPECT_THAT(text, HasSubstr("usable: "));
}

}  // namespace
}  // namespace caravan::planner
