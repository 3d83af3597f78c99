#include "planner/search/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "planner/search/reasons.h"
#include "planner/search/remedy.h"
#include "planner/search/split_layers.h"
#include "planner/testing/jobs.h"

namespace caravan::planner {
namespace {

using testing::HasSubstr;

std::string pick(const PlanRequest& request) {
  const SearchResult result = search_layouts(request, default_profile(), {});
  return result.chosen() ? layout_label(result.chosen()->layout) : "nothing";
}

PlanRequest with_memory(PlanRequest request, int64_t bytes) {
  request.devices.memory_bytes = bytes;
  return request;
}

TEST(SplitLayers, IsEvenAndSparesTheFirstAndLastStage) {
  EXPECT_EQ(split_layers(8, 4), (std::vector<int>{2, 2, 2, 2}));
  EXPECT_EQ(split_layers(10, 4), (std::vector<int>{2, 3, 3, 2}));
  EXPECT_EQ(split_layers(11, 4), (std::vector<int>{3, 3, 3, 2}));
  EXPECT_EQ(split_layers(5, 2), (std::vector<int>{3, 2}));
  for (int layers = 1; layers <= 40; ++layers) {
    for (int stages = 1; stages <= layers; ++stages) {
      const auto split = split_layers(layers, stages);
      EXPECT_EQ(std::accumulate(split.begin(), split.end(), 0), layers);
      EXPECT_LE(std::ranges::max(split) - std::ranges::min(split), 1);
    }
  }
}

TEST(SearchLayouts, ReplicatesAModelThatFitsOneDevice) {
  EXPECT_EQ(pick(request_of(cpu_job("llama-mini", 4))), "TP1 PP1 DP4");
}

TEST(SearchLayouts, PrefersPipelineOverTensorParallelismAtAnEqualProduct) {
  const PlanRequest request = request_of(cpu_job("llama-small", 4));
  const auto bytes = [&](int tensor, int pipeline) {
    return predict_memory(request, layout_of(request, tensor, pipeline, 4 / (tensor * pipeline)),
                          default_profile())
        .peak_bytes();
  };
  const int64_t both_fit = std::max(bytes(1, 2), bytes(2, 1));
  ASSERT_LT(both_fit, bytes(1, 1));
  const auto memory =
      static_cast<int64_t>(static_cast<double>(both_fit) / (1 - default_profile().memory_margin)) + 1;
  EXPECT_EQ(pick(with_memory(request, memory)), "TP1 PP2 DP2");
}

TEST(SearchLayouts, ChecksPointsOnlyWhenNothingElseFits) {
  PlanRequest request = request_of(gpu_job("llama3-8b", 1));
  request.devices.memory_bytes = int64_t{190} << 30;
  EXPECT_EQ(pick(request), "TP1 PP1 DP1");
  request.devices.memory_bytes = int64_t{162} << 30;
  EXPECT_EQ(pick(request), "TP1 PP1 DP1 with checkpointing");
  request.fixed.checkpointing = CheckpointingPolicy::Never;
  EXPECT_EQ(pick(request), "nothing");
}

TEST(SearchLayouts, TensorParallelismStaysInsideANode) {
  PlanRequest request = request_of(gpu_job("llama3-70b", 64));
  for (const int node : {2, 4, 6}) {
    request.devices.node_size = request.devices.per_node = node;
    for (const EvaluatedLayout& candidate : search_layouts(request, default_profile(), {}).candidates) {
      if (candidate.illegality) continue;
      EXPECT_EQ(node % candidate.layout.tensor, 0) << layout_label(candidate.layout);
    }
  }
}

TEST(SearchLayouts, KeepsWhatTheUserFixed) {
  for (const v1alpha1::JobSpec& job : many_jobs()) {
    const PlanRequest request = request_of(job);
    for (const EvaluatedLayout& candidate :
         search_layouts(request, default_profile(), {.all_candidates = true}).candidates) {
      const Layout& layout = candidate.layout;
      EXPECT_EQ(layout.tensor, request.fixed.tensor.value_or(layout.tensor));
      EXPECT_EQ(layout.pipeline, request.fixed.pipeline.value_or(layout.pipeline));
      EXPECT_EQ(layout.micro_batch_size, request.fixed.micro_batch_size.value_or(layout.micro_batch_size));
      EXPECT_EQ(layout.schedule, request.fixed.schedule.value_or(layout.schedule));
      const CheckpointingPolicy policy = request.fixed.checkpointing;
      EXPECT_FALSE(policy == CheckpointingPolicy::Always && !layout.activation_checkpointing);
      EXPECT_FALSE(policy == CheckpointingPolicy::Never && layout.activation_checkpointing);
    }
  }
}

TEST(SearchLayouts, WhatIsChosenIsLegalAndFits) {
  int chosen = 0;
  for (const v1alpha1::JobSpec& job : many_jobs()) {
    const PlanRequest request = request_of(job);
    const SearchResult result = search_layouts(request, default_profile(), {});
    if (!result.chosen()) continue;
    ++chosen;
    EXPECT_FALSE(find_illegality(request, result.chosen()->layout));
    EXPECT_LE(result.chosen()->memory.peak_bytes(), *usable_bytes(request.devices, default_profile()));
    EXPECT_EQ(result.chosen()->layout.devices(), request.devices.count);
  }
  EXPECT_GT(chosen, 50);
}

TEST(SearchLayouts, AskingForAllCandidatesDoesNotChangeThePick) {
  for (const v1alpha1::JobSpec& job : many_jobs()) {
    const PlanRequest request = request_of(job);
    const SearchResult few = search_layouts(request, default_profile(), {});
    const SearchResult all = search_layouts(request, default_profile(), {.all_candidates = true});
    ASSERT_EQ(few.chosen() != nullptr, all.chosen() != nullptr);
    EXPECT_GE(all.candidates.size(), few.candidates.size());
    if (!few.chosen()) continue;
    EXPECT_EQ(few.chosen()->layout, all.chosen()->layout);
  }
}

TEST(SearchLayouts, MoreMemoryNeverMakesAFittingJobUnfit) {
  for (const v1alpha1::JobSpec& job : many_jobs()) {
    PlanRequest request = request_of(job);
    bool fitted = false;
    for (int64_t gibibytes = 16; gibibytes <= 1024; gibibytes *= 2) {
      request.devices.memory_bytes = gibibytes << 30;
      const bool fits = search_layouts(request, default_profile(), {}).chosen() != nullptr;
      EXPECT_TRUE(fits || !fitted) << gibibytes << " GiB";
      fitted = fits;
    }
  }
}

TEST(SearchLayouts, EveryRejectedLayoutNamesStageTermAndBytes) {
  for (const v1alpha1::JobSpec& job : many_jobs()) {
    const PlanRequest request = request_of(job);
    for (const EvaluatedLayout& candidate : search_layouts(request, default_profile(), {}).candidates) {
      EXPECT_FALSE(candidate.reason.empty());
      if (candidate.verdict != Verdict::DoesNotFit) continue;
      EXPECT_THAT(candidate.reason,
                  testing::ContainsRegex("^stage [0-9]+ needs [0-9.]+ [GT]iB of [0-9.]+ GiB usable: "
                                         "[a-z]+ [0-9.]+ [MGT]iB$"));
    }
  }
}

TEST(SearchLayouts, CandidatesStandInOrderOfPreference) {
  for (const v1alpha1::JobSpec& job : many_jobs()) {
    const SearchResult result = search_layouts(request_of(job), default_profile(), {.all_candidates = true});
    EXPECT_TRUE(std::ranges::is_sorted(result.candidates, {}, &EvaluatedLayout::verdict));
  }
}

TEST(SearchLayouts, TheTimeModelOverrulesAPipelineWithFewMicroBatches) {
  PlanRequest request = request_of(gpu_job("llama3-70b", 64));
  request.training.global_batch_sequences = 16;
  const SearchResult result = search_layouts(request, default_profile(), {});
  ASSERT_NE(result.chosen(), nullptr);
  EXPECT_THAT(result.chosen()->reason, HasSubstr("less time than with TP2 PP8 DP4, which the rule"));
}

TEST(Shortage, NamesTheSmallestNumberOfDevicesThatFits) {
  const PlanRequest request = request_of(gpu_job("llama3-70b", 8));
  const auto count = smallest_device_count(request, default_profile());
  ASSERT_TRUE(count);
  PlanRequest enough = request_of(gpu_job("llama3-70b", *count));
  EXPECT_TRUE(anything_fits(enough, default_profile()));
  EXPECT_FALSE(anything_fits(request_of(gpu_job("llama3-70b", *count - 8)), default_profile()));
}

std::string reason_of_pick(const PlanRequest& request) {
  return search_layouts(request, default_profile(), {}).chosen()->reason;
}

TEST(SearchLayouts, SayWhatTheUserFixedInsteadOfClaimingIt) {
  PlanRequest request = request_of(gpu_job("llama3-8b", 8, "H200"));
  request.fixed.checkpointing = CheckpointingPolicy::Always;
  EXPECT_THAT(reason_of_pick(request), HasSubstr("with activation checkpointing, as the job says"));

  PlanRequest two_sizes = request_of(gpu_job("llama3-8b", 8));
  two_sizes.fixed.tensor = two_sizes.fixed.pipeline = 2;
  EXPECT_THAT(reason_of_pick(two_sizes), HasSubstr("2 data parallel replicas, as the job says"));

  PlanRequest tight = request_of(gpu_job("llama3-8b", 1));
  tight.devices.memory_bytes = int64_t{162} << 30;
  tight.fixed.tensor = tight.fixed.pipeline = tight.fixed.data = 1;
  EXPECT_THAT(reason_of_pick(tight), HasSubstr("with activation checkpointing, without which nothing fits"));
}

struct Change {
  std::string what;
  PlanRequest request;
  std::string says;
};

TEST(Shortage, NamesTheSmallestChangeThatFits) {
  PlanRequest never = request_of(gpu_job("llama3-8b", 1));
  never.devices.memory_bytes = int64_t{162} << 30;
  never.fixed.checkpointing = CheckpointingPolicy::Never;
  PlanRequest large_batch = request_of(gpu_job("llama3-8b", 8));
  large_batch.fixed.micro_batch_size = 512;
  PlanRequest gpipe = request_of(gpu_job("llama3-8b", 8));
  gpipe.fixed.schedule = ScheduleKind::GPipe;
  gpipe.fixed.pipeline = 8;
  gpipe.fixed.checkpointing = CheckpointingPolicy::Never;
  PlanRequest manual = request_of(gpu_job("llama3-8b", 8));
  manual.fixed.tensor = manual.fixed.pipeline = 1;
  manual.fixed.data = 8;
  manual.fixed.checkpointing = CheckpointingPolicy::Never;
  PlanRequest long_sequence = request_of(gpu_job("llama3-8b", 8));
  long_sequence.training.sequence_length = 1 << 20;
  const Change cases[] = {
      {"checkpointing forbidden", never, "is spec.parallelism.activationCheckpointing: WhenNeeded"},
      {"micro-batch too large", large_batch, "is spec.parallelism.microBatchSize: "},
      {"schedule that holds all", gpipe, "is spec.parallelism.schedule: 1F1B"},
      {"sizes by hand", manual, "suffice with spec.parallelism.mode: Auto"},
      {"sequences too long", long_sequence, "is spec.training.sequenceLength: "},
  };
  for (const Change& change : cases) {
    const SearchResult result = search_layouts(change.request, default_profile(), {});
    ASSERT_EQ(result.chosen(), nullptr) << change.what;
    EXPECT_THAT(describe_shortage(change.request, default_profile(), result), HasSubstr(change.says))
        << change.what;
  }
}

}  // namespace
}  // namespace caravan::planner
