#include "planner/search/preference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "common/testing/turn.h"
#include "planner/search/reasons.h"
#include "planner/search/search.h"
#include "planner/testing/jobs.h"

namespace caravan::planner {
namespace {

struct JobOnDevices {
  std::string preset;
  int sequence_length, sequences, devices;
  std::string product;
  int gibibytes = 0;  // 0: the product's
};

PlanRequest request_on_devices(const JobOnDevices& job) {
  v1alpha1::JobSpec spec = gpu_job(job.preset, job.devices, job.product);
  spec.mutable_training()->set_sequence_length(job.sequence_length);
  spec.mutable_training()->set_global_batch_sequences(job.sequences);
  PlanRequest request = request_of(spec);
  if (job.gibibytes > 0) request.devices.memory_bytes = int64_t{job.gibibytes} << 30;
  return request;
}

const JobOnDevices kLongSequences{"llama3.1-8b", 131072, 8, 8, "A100-PCIe-80GB"};

// Absent where nothing is sure to fit.
std::optional<EvaluatedLayout> sure_plan_of(const PlanRequest& request) {
  const SearchResult result = search_layouts(request, default_profile(), {});
  if (!result.chosen() || result.chosen()->preference.risky) return std::nullopt;
  return *result.chosen();
}

std::vector<PlanRequest> with_something_fixed(const PlanRequest& request) {
  std::vector<PlanRequest> fixed;
  for (const int size : {1, 2, 4, 8, 16}) {
    fixed.push_back(request);
    fixed.back().fixed.tensor = size;
    fixed.push_back(request);
    fixed.back().fixed.pipeline = size;
  }
  for (const auto policy : {CheckpointingPolicy::Always, CheckpointingPolicy::Never}) {
    fixed.push_back(request);
    fixed.back().fixed.checkpointing = policy;
  }
  return fixed;
}

TEST(Preference, OfAnOpenJobIsNoSlowerPlanThanOfOneWithSomethingFixed) {
  CARAVAN_BY_TURNS();
  for (const JobOnDevices& job : {JobOnDevices{"llama3.1-70b", 65536, 64, 32, "H100-NVL"}, kLongSequences,
                                  JobOnDevices{"llama3.1-8b", 32768, 16, 8, "H100-80GB", 36},
                                  JobOnDevices{"llama3.2-1b", 8192, 64, 4, "A100-40GB"},
                                  JobOnDevices{"llama3-8b", 8192, 256, 1, "H100-80GB", 165},
                                  JobOnDevices{"llama2-13b", 4096, 96, 16, "A100-40GB"}}) {
    const PlanRequest open = request_on_devices(job);
    const auto best = sure_plan_of(open);
    ASSERT_TRUE(best) << job.preset;
    for (const PlanRequest& fixed : with_something_fixed(open)) {
      const auto other = sure_plan_of(fixed);
      if (!other) continue;
      const Prediction predicted{.time = other->time, .fit_chance = *other->fit_chance};
      const Preference preference = preference_of(open, other->layout, predicted, default_profile());
      EXPECT_LE(best->preference.expected_seconds, (1 + kSparingMemoryGain) * preference.expected_seconds)
          << job.preset << ": " << layout_label(best->layout) << " against " << layout_label(other->layout);
    }
  }
}

TEST(Preference, MoreMemoryMakesNoPlanSlowerByMoreThanTheHandicap) {
  double least = std::numeric_limits<double>::infinity();
  for (int gibibytes = 28; gibibytes <= 100; gibibytes += 4) {
    const auto plan =
        sure_plan_of(request_on_devices(JobOnDevices{"llama3.1-8b", 32768, 16, 8, "H100-80GB", gibibytes}));
    ASSERT_TRUE(plan) << gibibytes << " GiB";
    EXPECT_LE(*plan->time.seconds, (1 + kSparingMemoryGain) * least)
        << gibibytes << " GiB: " << layout_label(plan->layout);
    least = std::min(least, *plan->time.seconds);
  }
}

TEST(Preference, WhatMakesActivationsAgainMustBeClearlyFaster) {
  const PlanRequest request = request_on_devices(kLongSequences);
  const auto preference = [&](bool checkpointing, double seconds) {
    Layout layout = layout_of(request, 1, 8, 1);
    layout.activation_checkpointing = checkpointing;
    StepTime time;
    time.seconds = seconds;
    return preference_of(request, layout, {.time = time}, default_profile());
  };
  EXPECT_LT(preference(false, 1), preference(true, 0.96));
  EXPECT_GT(preference(false, 1), preference(true, 0.94));
}

TEST(Preference, WhereNoSpeedIsKnownNothingIsMadeAgainThatNeedNotBe) {
  PlanRequest request = request_on_devices(kLongSequences);
  EXPECT_TRUE(sure_plan_of(request)->layout.activation_checkpointing);
  request.devices.known.reset();
  EXPECT_FALSE(sure_plan_of(request)->layout.activation_checkpointing);
}

TEST(Preference, APlanThatSparesMemoryForTimeNamesTheBestThatDoesNot) {
  EXPECT_THAT(
      sure_plan_of(request_on_devices(kLongSequences))->reason,
      testing::ContainsRegex(", with activation checkpointing of [0-9]+ of 32 layers. It fits .* and a "
                             "step is predicted to take [0-9]+ % less time than with TP8 PP1 DP1, the "
                             "best without.$"));
}

// Fewer devices of one model, for about the same time.
TEST(Preference, APlanThatSparesMemoryToSplitLessSaysSo) {
  EXPECT_THAT(
      sure_plan_of(request_on_devices(JobOnDevices{"llama3.1-8b", 32768, 16, 8, "H100-80GB", 48}))->reason,
      testing::ContainsRegex(", the best without, splits the model further, and a step takes [0-9.]+ % "
                             "less time only.$"));
}

}  // namespace
}  // namespace caravan::planner
