#include "planner/search/search.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "caravan/v1alpha1/options.pb.h"
#include "common/testing/turn.h"
#include "planner/job_shape.h"
#include "planner/memory/risk.h"
#include "planner/search/device_count.h"
#include "planner/search/enumerate.h"
#include "planner/search/legality.h"
#include "planner/search/reasons.h"
#include "planner/search/remedy.h"
#include "planner/search/split_layers.h"
#include "planner/testing/jobs.h"
#include "planner/time/block_times.h"

namespace caravan::planner {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string pick(const PlanRequest& request) {
  const SearchResult result = search_layouts(request, default_profile(), {});
  return result.chosen() ? layout_label(result.chosen()->layout) : "nothing";
}

std::string reason_of_pick(const PlanRequest& request) {
  return search_layouts(request, default_profile(), {}).chosen()->reason;
}

int count_candidates(const SearchResult& result, auto matches) {
  return static_cast<int>(std::ranges::count_if(result.candidates, matches,
                                                [](const auto& candidate) { return candidate.layout; }));
}

// Of a job whose layouts several tests look at.
PlanRequest usual_request() {
  return request_of(gpu_job("llama3-8b", 64));
}

// With all candidates. Searched for once: they are many.
const SearchResult& whole_usual_search() {
  static const SearchResult result =
      search_layouts(usual_request(), default_profile(), {.all_candidates = true});
  return result;
}

PlanRequest with_memory(PlanRequest request, int64_t bytes) {
  request.devices.memory_bytes = bytes;
  return request;
}

TEST(SplitLayers, SparesTheFirstStageAndTheOneWithTheHead) {
  EXPECT_EQ(split_layers(8, 4, 0.2), (std::vector<int>{2, 2, 2, 2}));
  EXPECT_EQ(split_layers(10, 4, 0.2), (std::vector<int>{2, 3, 3, 2}));
  EXPECT_EQ(split_layers(5, 2, 0.2), (std::vector<int>{3, 2}));
  EXPECT_EQ(split_layers(32, 2, 2.4), (std::vector<int>{17, 15}));
  EXPECT_EQ(split_layers(32, 4, 2.4), (std::vector<int>{8, 9, 9, 6}));
  EXPECT_EQ(split_layers(4, 4, 9), (std::vector<int>{1, 1, 1, 1}));
}

// Both chunks of a V have a layer, also on the stage with the head.
TEST(SplitLayers, EveryStageHasAsManyLayersAsChunks) {
  for (int stages = 2; stages <= 32; ++stages) {
    for (int layers = 2 * stages; layers <= 4 * stages; ++layers) {
      for (const double head : {0.0, 1.9, 7.5}) {
        const auto split = split_layers(layers, stages, head, 2);
        EXPECT_EQ(std::accumulate(split.begin(), split.end(), 0), layers);
        EXPECT_GE(std::ranges::min(split), 2) << layers << " layers, " << stages << " stages, head " << head;
      }
    }
  }
  v1alpha1::JobSpec job = gpu_job("llama3-8b", 16);
  job.mutable_parallelism()->set_pipeline(16);
  job.mutable_parallelism()->set_schedule("VHalf");
  const SearchResult result = search_layouts(request_of(job), default_profile(), {});
  ASSERT_NE(result.chosen(), nullptr);
  EXPECT_EQ(result.chosen()->layout.layers_per_stage, std::vector<int>(16, 2));
}

PlanRequest eight_stages(int layers, std::optional<ScheduleKind> schedule) {
  PlanRequest request = request_of(gpu_job("llama3.1-405b", 128));
  request.shape.layers = layers;
  request.fixed.tensor = request.fixed.pipeline = 8;
  request.fixed.schedule = schedule;
  return request;
}

// Of 126 layers eight stages cannot have as many chunks of one length.
TEST(SplitLayers, InterleavedStagesDifferByWholeChunks) {
  const PlanRequest request = eight_stages(126, ScheduleKind::Interleaved);
  std::set<int> chunks;
  for (const Layout& layout : enumerate_layouts(request, default_profile())) {
    const auto illegal = find_illegality(request, layout, default_profile());
    EXPECT_FALSE(illegal) << illegal->message();
    chunks.insert(layout.virtual_stages);
    if (layout.virtual_stages != 2) continue;
    EXPECT_EQ(layout.layers_per_stage, (std::vector<int>{16, 16, 16, 16, 16, 16, 16, 14}));
  }
  EXPECT_THAT(chunks, testing::ElementsAre(2, 3, 6, 7));
}

TEST(SearchLayouts, ProposesChunksAlsoWhereStagesDifferByThem) {
  const PlanRequest open = eight_stages(126, std::nullopt);
  const Layout layout = enumerate_layouts(open, default_profile()).front();
  const std::vector<Layout> others = with_other_schedules(open, default_profile(), layout);
  EXPECT_GT(std::ranges::count(others, ScheduleKind::Interleaved, &Layout::schedule), 0);
}

TEST(SearchLayouts, WhereLayersMakeNoWholeChunksTheRuleIsNamed) {
  for (const int layers : {127, 14}) {
    const SearchResult result =
        search_layouts(eight_stages(layers, ScheduleKind::Interleaved), default_profile(), {});
    EXPECT_FALSE(result.anything_legal());
    EXPECT_THAT(
        result.candidates.front().reason,
        HasSubstr(fmt::format("the layers of each stage must be divisible by virtualStages; layers is {}, "
                              "pipeline is 8, virtualStages is 2",
                              layers)));
  }
}

// nanotron's assignment of 32 layers and a head that costs 2.2 of them.
TEST(SplitLayers, FilledStagesTakeLayersUntilTheyHaveMoreThanTheirShare) {
  EXPECT_EQ(fill_stages(32, 8, 2.2), (std::vector<int>{5, 4, 4, 5, 4, 4, 4, 2}));
  EXPECT_EQ(fill_stages(32, 1, 2.2), (std::vector<int>{32}));
  EXPECT_EQ(fill_stages(4, 4, 9), (std::vector<int>{1, 1, 1, 1}));
  EXPECT_EQ(fill_stages(8, 4, 4), (std::vector<int>{4, 2, 1, 1}));
}

double slowest_stage(std::vector<int> split, double head_layers) {
  const double last = split.back() + head_layers;
  split.pop_back();
  return split.empty() ? last : std::max<double>(last, std::ranges::max(split));
}

TEST(SplitLayers, NoOtherSplitHasAFasterSlowestStage) {
  for (int layers = 1; layers <= 40; ++layers) {
    for (int stages = 1; stages <= layers; ++stages) {
      for (const double head : {0.0, 0.4, 1.0, 2.1, 7.5}) {
        const auto split = split_layers(layers, stages, head);
        EXPECT_EQ(std::accumulate(split.begin(), split.end(), 0), layers);
        EXPECT_GE(std::ranges::min(split), 1);
        for (int last = 1; stages > 1 && last <= layers - stages + 1; ++last) {
          const int fullest = (layers - last + stages - 2) / (stages - 1);
          EXPECT_LE(slowest_stage(split, head), std::max<double>(fullest, last + head))
              << layers << " layers, " << stages << " stages, head " << head;
        }
      }
    }
  }
}

double slowest_seconds(const PlanRequest& request, const Layout& layout) {
  const OpTimes times = predict_pipeline_times(request, layout, default_profile()).ops;
  const ChunkMap map = layout.schedule_of(1).map();
  double slowest = 0;
  for (int stage = 0; stage < map.stages; ++stage)
    slowest = std::max(slowest, times.of_stage(map, stage).total());
  return slowest;
}

// Attention, what is computed again and the head's chunks count, not parameters.
TEST(SplitLayers, NoLayerWouldMakeAPipelineFasterOnAnotherStage) {
  for (const auto& job : {gpu_job("llama3-70b", 64), gpu_job("llama3-8b", 16), gpu_job("llama2-13b", 64)}) {
    const PlanRequest request = request_of(job);
    for (const Layout& layout : enumerate_layouts(request, default_profile())) {
      if (layout.mesh.pipeline == 1 || find_illegality(request, layout, default_profile())) continue;
      const double slowest = slowest_seconds(request, layout);
      for (const int from : {0, layout.mesh.pipeline - 1}) {
        Layout moved = layout;
        --moved.layers_per_stage[from];
        ++moved.layers_per_stage[from == 0 ? layout.mesh.pipeline - 1 : 0];
        if (moved.layers_per_stage[from] == 0) continue;
        // The embedding's collective, a small part of a layer, is not weighed.
        EXPECT_GE(slowest_seconds(request, moved), slowest * (1 - 7e-3)) << layout_label(layout);
      }
    }
  }
}

TEST(SplitLayers, AStageThatIsTooFullGivesLayersToOnesWithRoom) {
  PlanRequest request = request_of(gpu_job("llama3-8b", 4));
  request.fixed.tensor = request.fixed.data = 1;
  request.fixed.pipeline = 4;
  request.fixed.schedule = ScheduleKind::OneFOneB;
  request.fixed.checkpointing = CheckpointingPolicy::Never;
  const SearchResult roomy = search_layouts(with_memory(request, int64_t{1} << 40), default_profile(), {});
  ASSERT_NE(roomy.chosen(), nullptr);
  const LayoutMemory& fastest = roomy.chosen()->memory;
  const int64_t a_byte_less =
      memory_for(fastest.peak_bytes(), request.devices, default_profile()) * 999 / 1000;
  const SearchResult tight = search_layouts(with_memory(request, a_byte_less), default_profile(), {});
  ASSERT_NE(tight.chosen(), nullptr) << "one layer less on stage " << fastest.binding_stage << " would do";
  const int binding = fastest.binding_stage;
  EXPECT_LT(tight.chosen()->layout.layers_per_stage[binding],
            roomy.chosen()->layout.layers_per_stage[binding]);
  EXPECT_LE(tight.chosen()->memory.peak_bytes(),
            *usable_bytes(with_memory(request, a_byte_less).devices, default_profile()));
  EXPECT_GE(*tight.chosen()->time.seconds, *roomy.chosen()->time.seconds) << "memory costs time";
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
  const int64_t memory = memory_for(both_fit + both_fit / 50, request.devices, default_profile());
  EXPECT_EQ(pick(with_memory(request, memory)), "TP1 PP2 DP2");
}

TEST(SearchLayouts, ChecksPointsOnlyWhenNothingElseFits) {
  PlanRequest request = request_of(gpu_job("llama3-8b", 1));
  request.devices.memory_bytes = int64_t{190} << 30;
  EXPECT_EQ(pick(request), "TP1 PP1 DP1");
  request.devices.memory_bytes = int64_t{162} << 30;
  EXPECT_THAT(pick(request), testing::StartsWith("TP1 PP1 DP1 with checkpointing of "));
  request.fixed.checkpointing = CheckpointingPolicy::Never;
  EXPECT_EQ(pick(request), "nothing");
}

// Predicted to take so long, and to fill that part of the memory.
Preference preference_at(double seconds, double part, std::optional<double> memory_error) {
  const PlanRequest request = request_of(gpu_job("llama3-8b", 8));
  EngineProfile profile = default_profile();
  profile.memory_error = memory_error;
  profile.measured_product.clear();
  profile.measured_devices = 0;
  const auto usable = static_cast<double>(*usable_bytes(request.devices, profile));
  const double chance = chance_to_fit(static_cast<int64_t>(part * usable), request, profile);
  StepTime time;
  time.seconds = seconds;
  return preference_of(request, layout_of(request, 1, 8, 1), {.time = time, .fit_chance = chance}, profile);
}

TEST(Preference, ANearlyFullDeviceIsWorthFivePercentOfTimeUntilMemoryIsMeasured) {
  EXPECT_LT(preference_at(1.05, 0.7, std::nullopt), preference_at(1, 0.96, std::nullopt));
  EXPECT_GT(preference_at(1.05, 0.7, 0.01), preference_at(1, 0.96, 0.01));
  EXPECT_GT(preference_at(1.05, 0.7, std::nullopt), preference_at(1, 0.9, std::nullopt));
}

TEST(Preference, WhatIsNotSureToFitComesLast) {
  EXPECT_LT(preference_at(3, 0.7, std::nullopt), preference_at(1, 0.99, std::nullopt));
}

TEST(SearchLayouts, TakesASlowerLayoutThatIsSureToFit) {
  CARAVAN_BY_TURNS();
  const PlanRequest request = usual_request();
  const SearchResult roomy = search_layouts(with_memory(request, int64_t{1} << 40), default_profile(), {});
  ASSERT_NE(roomy.chosen(), nullptr);
  const auto filled = [&](double part) {
    const auto peak = static_cast<double>(roomy.chosen()->memory.peak_bytes());
    return with_memory(request,
                       memory_for(static_cast<int64_t>(peak / part), request.devices, default_profile()));
  };
  EXPECT_EQ(pick(filled(0.9)), layout_label(roomy.chosen()->layout));
  const SearchResult tight = search_layouts(filled(0.99), default_profile(), {.all_candidates = true});
  ASSERT_NE(tight.chosen(), nullptr);
  EXPECT_GE(*tight.chosen()->fit_chance, kSureToFit);
  EXPECT_GT(*tight.chosen()->time.seconds, *roomy.chosen()->time.seconds);
  const auto fastest = std::ranges::find(tight.candidates, roomy.chosen()->layout, &EvaluatedLayout::layout);
  ASSERT_NE(fastest, tight.candidates.end());
  EXPECT_TRUE(fastest->fits);
  EXPECT_THAT(fastest->reason,
              testing::ContainsRegex("^a step takes [0-9.]+ % less time, but it fits with a chance of "
                                     "[0-9.]+ % only$"));
}

// From a limit that everything fits to one that nothing but inputs fits.
TEST(SearchLayouts, RecomputesAsLittleAsTheLimitAllows) {
  PlanRequest request = request_of(gpu_job("llama3-8b", 1));
  Layout everything = layout_of(request, 1, 1, 1);
  everything.activation_checkpointing = true;
  const double all = recomputed_flops_per_token(request, everything, default_profile());
  double flops_before = 0;
  double seconds_before = 0;
  std::set<std::pair<RecomputedPart, int>> found;
  for (int gibibytes = 180; gibibytes >= 150; --gibibytes) {
    const PlanRequest limited = with_memory(request, int64_t{gibibytes} << 30);
    const SearchResult result = search_layouts(limited, default_profile(), {});
    if (!result.chosen()) break;
    const EvaluatedLayout& chosen = *result.chosen();
    EXPECT_GE(*chosen.time.seconds, seconds_before) << gibibytes << " GiB";
    EXPECT_LE(chosen.memory.peak_bytes(), *usable_bytes(limited.devices, default_profile()));
    const double flops = recomputed_flops_per_token(limited, chosen.layout, default_profile());
    // The first ones make room to spare at once.
    EXPECT_LT(flops, flops_before == 0 ? all / 2 : 2 * flops_before) << gibibytes << " GiB: step by step";
    found.emplace(chosen.layout.recomputed_part, chosen.layout.recomputed());
    seconds_before = *chosen.time.seconds;
    flops_before = flops;
  }
  EXPECT_GT(found.size(), 10u);
}

// Of 8,192 tokens attention is dear; whole layers are the only way where the gates of all are not enough.
TEST(SearchLayouts, RecomputesMlpsWhereTheyCostLess) {
  PlanRequest request = request_of(gpu_job("llama3-8b", 1));
  request.fixed.checkpointing = CheckpointingPolicy::WhenNeeded;
  const auto picked = [&](int gibibytes) {
    return search_layouts(with_memory(request, int64_t{gibibytes} << 30), default_profile(), {})
        .chosen()
        ->layout;
  };
  EXPECT_EQ(picked(168).recomputed_part, RecomputedPart::Mlp);
  const Layout last = picked(158);
  EXPECT_EQ(last.recomputed_part, RecomputedPart::Layer);
  EXPECT_LT(last.recomputed(), 32);
  PlanRequest short_sequences = request;
  short_sequences.training.sequence_length = 1024;
  short_sequences.fixed.micro_batch_size = 8;
  EXPECT_EQ(search_layouts(with_memory(short_sequences, int64_t{165} << 30), default_profile(), {})
                .chosen()
                ->layout.recomputed_part,
            RecomputedPart::Layer);
}

// Also where the nodes are not full.
TEST(SearchLayouts, TensorParallelismStaysInsideANode) {
  for (const auto& [devices, node] : {std::pair{24, 2}, {24, 4}, {24, 6}, {12, 8}, {20, 8}}) {
    const auto request = read_request(gpu_job("llama3-70b", devices), {.devices_per_node = node});
    const JobShape shape = spread(devices, node);
    int legal = 0;
    for (const EvaluatedLayout& candidate : search_layouts(*request, default_profile(), {}).candidates) {
      if (candidate.illegality) continue;
      ++legal;
      const int tensor = candidate.layout.mesh.tensor;
      for (int first = 0; first < devices; first += tensor) {
        EXPECT_EQ(shape.node_of(first), shape.node_of(first + tensor - 1))
            << layout_label(candidate.layout) << " of " << devices << " devices on nodes of " << node;
      }
    }
    EXPECT_GT(legal, 0) << devices << " devices on nodes of " << node;
  }
}

TEST(SearchLayouts, AGroupThatNodesWhichAreNotFullWouldCutIsRefused) {
  const auto request = read_request(gpu_job("llama3-70b", 12), {.devices_per_node = 8});
  EXPECT_EQ(request->devices.per_node, 6) << "two pods of as many";
  EXPECT_FALSE(check_tensor(*request, 2));
  const auto illegality = check_tensor(*request, 4);
  ASSERT_TRUE(illegality) << "ranks 4 to 7 would be on both";
  EXPECT_THAT(illegality->message(),
              HasSubstr("tensor is 4, a node has 6, since 12 devices are spread over "
                        "nodes of 8; set devicesPerNode to a multiple of 4 that divides 12"));
  EXPECT_THAT(check_tensor(*request, 8)->message(), HasSubstr("a node has 6, since 12 devices are spread"));
}

TEST(SearchLayouts, TensorParallelismStaysAmongTheDevicesThatASwitchJoins) {
  PlanRequest request = request_of(gpu_job("llama2-7b", 64, "GB200"));
  request.devices.node_size = request.devices.per_node = 4;
  EXPECT_FALSE(check_tensor(request, 8)) << "two nodes of a rack of 72";
  request.devices.count = 128;
  EXPECT_FALSE(check_tensor(request, 8));
  const auto illegality = check_tensor(request, 16);
  ASSERT_TRUE(illegality) << "one of the groups would be in two racks";
  EXPECT_THAT(illegality->message(), HasSubstr("a switch has 72"));
}

TEST(SearchLayouts, AllListsReplicasThatShardNothing) {
  const auto whole = [](const Layout& layout) { return layout.zero_stage == 0; };
  EXPECT_EQ(count_candidates(search_layouts(usual_request(), default_profile(), {}), whole), 0);
  const SearchResult& all = whole_usual_search();
  EXPECT_GT(count_candidates(all, whole), 10);
  EXPECT_EQ(all.chosen()->layout.zero_stage, 1);
}

TEST(SearchLayouts, KeepsWhatTheUserFixed) {
  for (const v1alpha1::JobSpec& job : few_jobs()) {
    const PlanRequest request = request_of(job);
    for (const EvaluatedLayout& candidate :
         search_layouts(request, default_profile(), {.all_candidates = true}).candidates) {
      const Layout& layout = candidate.layout;
      EXPECT_EQ(layout.mesh.tensor, request.fixed.tensor.value_or(layout.mesh.tensor));
      EXPECT_EQ(layout.mesh.pipeline, request.fixed.pipeline.value_or(layout.mesh.pipeline));
      EXPECT_EQ(layout.micro_batch_size, request.fixed.micro_batch_size.value_or(layout.micro_batch_size));
      EXPECT_EQ(layout.schedule, request.fixed.schedule.value_or(layout.schedule));
      const CheckpointingPolicy policy = request.fixed.checkpointing;
      EXPECT_FALSE(policy == CheckpointingPolicy::Always && !layout.activation_checkpointing);
      EXPECT_FALSE(policy == CheckpointingPolicy::Never && layout.activation_checkpointing);
    }
  }
}

TEST(SearchLayouts, WhatIsChosenIsLegalAndFits) {
  std::size_t chosen = 0;
  const std::vector<v1alpha1::JobSpec> jobs = many_jobs();
  for (const v1alpha1::JobSpec& job : jobs) {
    const PlanRequest request = request_of(job);
    const SearchResult result = search_layouts(request, default_profile(), {});
    if (!result.chosen()) continue;
    ++chosen;
    EXPECT_FALSE(find_illegality(request, result.chosen()->layout, default_profile()));
    EXPECT_LE(result.chosen()->memory.peak_bytes(), *usable_bytes(request.devices, default_profile()));
    EXPECT_EQ(result.chosen()->layout.mesh.ranks(), request.devices.count);
  }
  EXPECT_GT(chosen, jobs.size() / 8);
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
  for (const v1alpha1::JobSpec& job : few_jobs()) {
    const SearchResult result = search_layouts(request_of(job), default_profile(), {.all_candidates = true});
    EXPECT_TRUE(std::ranges::is_sorted(result.candidates, {}, &EvaluatedLayout::verdict));
    std::vector<Preference> preferences;
    for (const EvaluatedLayout& candidate : result.candidates) {
      if (candidate.verdict == Verdict::Slower) preferences.push_back(candidate.preference);
      if (!candidate.fits || !may_be_picked(candidate.preference.tier)) continue;
      EXPECT_LE(result.chosen()->preference, candidate.preference);
    }
    EXPECT_TRUE(std::ranges::is_sorted(preferences));
  }
}

// Rows of a short sequence alone are too few for the device's products.
TEST(SearchLayouts, ShortSequencesShareAMicroBatchInAPipelineToo) {
  PlanRequest request = request_of(gpu_job("llama2-13b", 32, "A100-40GB"));
  request.training.sequence_length = 128;
  const SearchResult result = search_layouts(request, default_profile(), {});
  ASSERT_NE(result.chosen(), nullptr);
  EXPECT_GT(result.chosen()->layout.mesh.pipeline, 1) << layout_label(result.chosen()->layout);
  EXPECT_GT(result.chosen()->layout.micro_batch_size, 1) << layout_label(result.chosen()->layout);
  request.training.sequence_length = 4096;
  EXPECT_EQ(search_layouts(request, default_profile(), {}).chosen()->layout.micro_batch_size, 1);
}

TEST(SearchLayouts, EndsWhenItIsGivenUp) {
  int asked = 0;
  const auto given_up = search_layouts(usual_request(), default_profile(),
                                       {.all_candidates = true, .gives_up = [&] { return ++asked > 3; }});
  EXPECT_LE(given_up.candidates.size(), 3U);
  EXPECT_GT(whole_usual_search().candidates.size(), 3U);
}

TEST(SearchLayouts, AllListsTheWholeGrid) {
  const SearchResult& result = whole_usual_search();
  for (int size = 1; size <= 8; ++size) {
    const bool divides = 2048 % size == 0;
    for (const bool checkpointing : {false, true}) {
      for (const bool sequence_parallel : {false, true}) {
        const int found = count_candidates(result, [&](const Layout& layout) {
          return layout.mesh.tensor == 2 && layout.mesh.pipeline == 4 && layout.micro_batch_size == size &&
                 layout.activation_checkpointing == checkpointing && layout.zero_stage == 1 &&
                 layout.schedule == ScheduleKind::OneFOneB && layout.sequence_parallel == sequence_parallel;
        });
        EXPECT_EQ(found, divides ? 1 : 0) << "micro-batch size " << size;
      }
    }
  }
}

TEST(SearchLayouts, ProposesMoreShardingWhereTheEngineHasIt) {
  CARAVAN_BY_TURNS();
  const PlanRequest request = request_of(gpu_job("llama3-8b", 16));
  const auto sharded = [](const Layout& layout) { return layout.zero_stage == 3; };
  EngineProfile able = default_profile();
  able.max_zero_stage = 3;
  EXPECT_EQ(count_candidates(search_layouts(request, default_profile(), {.all_candidates = true}), sharded),
            0);
  const SearchResult more = search_layouts(request, able, {.all_candidates = true});
  EXPECT_GT(count_candidates(more, sharded), 0);
  EXPECT_EQ(more.chosen()->layout.zero_stage, 1);
}

TEST(SearchLayouts, TriesEveryScheduleThatTheEngineRuns) {
  const PlanRequest request = request_of(gpu_job("llama3-8b", 16));
  const SearchResult ours = search_layouts(request, default_profile(), {.all_candidates = true});
  for (const ScheduleKind kind : all_schedule_kinds()) {
    const auto of_kind = [&](const Layout& layout) { return layout.schedule == kind; };
    const bool tried = may_be_asked_for(kind) && kind != ScheduleKind::GPipe;
    EXPECT_EQ(count_candidates(ours, of_kind) > 0, tried) << schedule_name(kind);
  }
  EngineProfile other = default_profile();
  other.activations.emplace();
  other.max_virtual_stages = 4;
  const SearchResult theirs = search_layouts(request, other, {.all_candidates = true});
  EXPECT_EQ(count_candidates(theirs, [](const Layout& l) { return splits_backward(l.schedule); }), 0);
  EXPECT_GT(count_candidates(theirs, [](const Layout& l) { return l.virtual_stages == 4; }), 0);
}

TEST(SearchLayouts, KeepsTheScheduleThatTheUserAsksFor) {
  PlanRequest request = request_of(gpu_job("llama3-70b", 64));
  request.fixed.schedule = ScheduleKind::OneFOneB;
  const SearchResult usual = search_layouts(request, default_profile(), {.all_candidates = true});
  EXPECT_EQ(count_candidates(usual, [](const Layout& l) { return l.schedule != ScheduleKind::OneFOneB; }), 0);
}

// What was left out since it cannot win would not have won.
TEST(SearchLayouts, PicksTheBestOfAllLayoutsWithAllSchedules) {
  CARAVAN_BY_TURNS();
  v1alpha1::JobSpec tied = gpu_job("llama3.2-3b", 16, "A100-40GB");
  v1alpha1::JobSpec crowded = gpu_job("llama2-7b", 4, "A100-40GB");
  crowded.mutable_parallelism()->set_tensor(1);
  v1alpha1::JobSpec long_sequences = gpu_job("llama3-8b", 16);
  long_sequences.mutable_training()->set_sequence_length(32768);
  bool makes_layers_again = false;
  for (const auto& job : {tied, crowded, long_sequences}) {
    const PlanRequest request = request_of(job);
    std::optional<EvaluatedLayout> best;
    const auto consider = [&](const Layout& layout) {
      const EvaluatedLayout candidate = evaluate_layout(request, layout, default_profile());
      if (!candidate.fits || !may_be_picked(candidate.preference.tier)) return;
      if (!best || candidate.preference < best->preference) best = candidate;
    };
    for (const Layout& layout : enumerate_layouts(request, default_profile())) {
      consider(layout);
      for (const Layout& other : with_other_schedules(request, default_profile(), layout)) consider(other);
    }
    const SearchResult found = search_layouts(request, default_profile(), {});
    ASSERT_NE(found.chosen(), nullptr);
    EXPECT_EQ(found.chosen()->layout, best->layout)
        << layout_label(found.chosen()->layout) << " instead of " << layout_label(best->layout);
    makes_layers_again |= best->layout.activation_checkpointing || spares_memory(best->layout.schedule);
  }
  EXPECT_TRUE(makes_layers_again);
}

TEST(SearchLayouts, SplitsEvenlyForEnginesThatCanDoNothingElse) {
  EngineProfile even = default_profile();
  even.stage_split = StageSplit::Even;
  PlanRequest request = request_of(gpu_job("llama3-8b", 24));
  request.training.global_batch_sequences = 1536;
  for (const EvaluatedLayout& candidate :
       search_layouts(request, even, {.all_candidates = true}).candidates) {
    if (candidate.layout.mesh.pipeline % 3 != 0) continue;
    EXPECT_THAT(candidate.reason,
                HasSubstr("spec.parallelism.pipeline: engine caravan has the same number of "
                          "layers on each stage; layers is 32, pipeline is"));
  }
}

TEST(SearchLayouts, TheTimeModelOverrulesAPipelineWithFewMicroBatches) {
  PlanRequest request = request_of(gpu_job("llama3-70b", 64));
  request.training.global_batch_sequences = 12;
  const SearchResult result = search_layouts(request, default_profile(), {});
  ASSERT_NE(result.chosen(), nullptr);
  EXPECT_THAT(result.chosen()->reason, HasSubstr("less time than with TP1 PP16 DP4, which the rule"));
}

TEST(SearchLayouts, WhatIsComparedWithTheLeastSplittingIsSplitNoFurther) {
  PlanRequest request = request_of(gpu_job("llama3-70b", 64, "A100-80GB"));
  request.training.global_batch_sequences = 512;
  request.fixed.tensor = 1;
  const SearchResult result = search_layouts(request, default_profile(), {});
  ASSERT_NE(result.chosen(), nullptr);
  EXPECT_EQ(layout_label(result.chosen()->layout), "TP1 PP16 DP4 SeqZBH1 k8");
  EXPECT_THAT(result.chosen()->reason, HasSubstr(", and with 1F1B TP1 PP16 DP4 would need "));
  EXPECT_THAT(result.chosen()->reason, Not(HasSubstr("PP64")));
  EXPECT_THAT(result.chosen()->reason, Not(HasSubstr("least splitting"))) << "with 1F1B nothing fits";
  EXPECT_THAT(
      result.chosen()->reason,
      HasSubstr("With SeqZBH1 it fits, and no layout with 1F1B without activation checkpointing does."));
}

TEST(SearchLayouts, TheLeastSplittingIsThatWith1F1B) {
  PlanRequest request = request_of(gpu_job("llama3-8b", 16));
  request.training.global_batch_sequences = 512;
  EXPECT_THAT(reason_of_pick(request),
              HasSubstr("That is the least splitting that fits with 1F1B. A device needs "));
  PlanRequest no_pipeline = request;
  no_pipeline.fixed.pipeline = 1;
  no_pipeline.fixed.checkpointing = CheckpointingPolicy::Never;
  PlanRequest without_time = request;
  without_time.devices.known.reset();
  for (const PlanRequest& one_schedule : {no_pipeline, without_time}) {
    EXPECT_THAT(reason_of_pick(one_schedule),
                AllOf(HasSubstr("That is the least splitting that fits"), Not(HasSubstr("1F1B"))));
  }
}

TEST(SearchLayouts, MoreSplittingThanThePlansIsNoRuleOfLeastSplitting) {
  v1alpha1::JobSpec job = gpu_job("llama3-8b", 12);
  job.mutable_resources()->mutable_device()->set_memory("30Gi");
  job.mutable_training()->set_global_batch_sequences(24);
  EXPECT_THAT(reason_of_pick(request_of(job)),
              HasSubstr("less time than with TP2 PP6 DP1, which the rule would pick with 1F1B."));
}

// Of as much splitting.
TEST(SearchLayouts, TheLeastSplittingIsNotWhatTheTimeModelOverrulesWhereTheOtherIsSplitAsMuch) {
  PlanRequest request = request_of(gpu_job("llama3-70b", 64));
  request.training.global_batch_sequences = 512;
  EngineProfile profile = default_profile();
  profile.segment_attention_efficiency = {};
  const SearchResult result = search_layouts(request, profile, {});
  ASSERT_NE(result.chosen(), nullptr);
  EXPECT_EQ(layout_label(result.chosen()->layout), "TP1 PP16 DP4 SeqZBH1 k8");
  EXPECT_THAT(result.chosen()->reason,
              HasSubstr("less time than with TP4 PP4 DP4, which the rule would pick with 1F1B."));
}

// 1F1B needs more than the devices have even without its activations: logits of whole sequences.
TEST(SearchLayouts, FindsWhatFitsOnlyInSegments) {
  v1alpha1::JobSpec job = gpu_job("llama3-8b", 32, "H200");
  job.mutable_resources()->mutable_device()->set_memory("6650Mi");
  job.mutable_training()->set_global_batch_sequences(32);
  const PlanRequest request = request_of(job);
  const SearchResult result = search_layouts(request, default_profile(), {});
  ASSERT_NE(result.chosen(), nullptr);
  EXPECT_EQ(result.chosen()->layout.schedule, ScheduleKind::Seq1F1B);
  EXPECT_TRUE(anything_fits(request, default_profile()));
}

// Or what fits only so would not be looked at: a V gathers the buckets of both ends on one stage.
TEST(SearchLayouts, TheLeastWithAnotherScheduleIsNoMoreThanAVWithShardedParametersTakes) {
  const PlanRequest request = request_of(gpu_job("llama3-8b", 32));
  Layout layout = layout_of(request, 1, 4, 8);
  layout.zero_stage = 3;
  Layout folded = layout;
  folded.schedule = ScheduleKind::VMin;
  folded.virtual_stages = 2;
  EXPECT_LE(4 * least_with_another_schedule(request, layout, {}, default_profile()),
            standing_bytes(request, folded, default_profile()));
}

// So that segments take the same time.
TEST(SearchLayouts, LaterSegmentsAreTheShorterTheLongerTheirAttentionTakesOnGpus) {
  PlanRequest request = usual_request();
  request.training.sequence_length = 32768;
  const auto last_segment = [&](double efficiency) {
    EngineProfile profile = default_profile();
    profile.segment_attention_efficiency = efficiency;
    const std::vector<Layout> layouts = with_other_schedules(
        request, profile,
        {.mesh = {.tensor = 1, .data = 16, .pipeline = 4}, .layers_per_stage = {8, 8, 8, 8}});
    const auto cut =
        std::ranges::find_if(layouts, [](const Layout& one) { return one.segments.size() == 4; });
    return cut == layouts.end() ? 0 : cut->segments.back();
  };
  EXPECT_GT(last_segment(0.1), 0);
  EXPECT_LT(last_segment(0.1), last_segment(0.3));
  EXPECT_LT(last_segment(0.3), last_segment(0.9));
}

// Against a search that tries every number.
TEST(Shortage, NamesTheSmallestNumberOfDevicesThatFits) {
  CARAVAN_BY_TURNS();
  struct Case {
    std::string preset;
    int sequences, sequence_length;
  };
  for (const Case& shape : {Case{"llama3-70b", 2048, 8192}, Case{"llama3-70b", 96, 32768},
                            Case{"llama2-13b", 30, 4096}, Case{"llama3-8b", 7, 8192}}) {
    v1alpha1::JobSpec job = gpu_job(shape.preset, 1, "A100-40GB");
    job.mutable_training()->set_global_batch_sequences(shape.sequences);
    job.mutable_training()->set_sequence_length(shape.sequence_length);
    const auto fits_on = [&](int devices) {
      job.mutable_resources()->set_devices(devices);
      return anything_fits(request_of(job), default_profile());
    };
    int smallest = 1;
    while (!fits_on(smallest)) smallest += smallest < 8 ? 1 : 8;
    job.mutable_resources()->set_devices(1);
    EXPECT_EQ(smallest_device_count(request_of(job), default_profile()),
              (DeviceCount{smallest, true, /*whole_nodes=*/smallest > 8}))
        << shape.preset;
  }
}

// Clusters of GPUs are used so, but nodes need not be full.
TEST(Shortage, SaysThatASmallestNumberIsOneOfWholeNodes) {
  v1alpha1::JobSpec job = gpu_job("llama3-70b", 8);
  const PlanRequest request = request_of(job);
  EXPECT_THAT(describe_shortage(request, default_profile(), search_layouts(request, default_profile(), {})),
              HasSubstr(" The smallest number of devices in whole nodes of 8 that fits is 24."));
  job.mutable_resources()->set_devices(21);
  EXPECT_TRUE(anything_fits(request_of(job), default_profile()));
}

TEST(Shortage, CountsOtherNumbersWhereNoWholeNodesFit) {
  v1alpha1::JobSpec job = gpu_job("llama3-70b", 5);
  job.mutable_training()->set_global_batch_sequences(3);
  job.mutable_resources()->mutable_device()->set_memory("170Gi");
  job.mutable_parallelism()->set_tensor(1);
  job.mutable_parallelism()->set_pipeline(5);
  const PlanRequest request = request_of(job);
  EXPECT_THAT(describe_shortage(request, default_profile(), search_layouts(request, default_profile(), {})),
              HasSubstr(" The smallest number of devices that fits is 15."));
  job.mutable_resources()->set_devices(15);
  EXPECT_TRUE(anything_fits(request_of(job), default_profile()));
  job.mutable_resources()->set_devices_per_node(8);
  EXPECT_EQ(smallest_device_count(request_of(job), default_profile()), (DeviceCount{std::nullopt, true}))
      << "the schema refuses 15 on nodes of 8";
}

// One replica is too large, and the most replicas have too few micro-batches for the schedule.
TEST(Shortage, CountsDevicesOnWhichTheScheduleThatIsAskedForHasItsMicroBatches) {
  v1alpha1::JobSpec job = gpu_job("llama3-70b", 16);
  job.mutable_training()->set_global_batch_sequences(64);
  v1alpha1::Parallelism& fixed = *job.mutable_parallelism();
  fixed.set_tensor(8);
  fixed.set_pipeline(2);
  fixed.set_schedule("Interleaved");
  fixed.set_activation_checkpointing(v1alpha1::ActivationCheckpointing::Never);
  const auto fits_on = [&](int devices) {
    job.mutable_resources()->set_devices(devices);
    return anything_fits(request_of(job), default_profile());
  };
  int smallest = 16;
  while (smallest < 1024 && !fits_on(smallest)) smallest *= 2;
  ASSERT_GT(smallest, 16);
  ASSERT_LT(smallest, 1024) << "with a single micro-batch";
  job.mutable_resources()->set_devices(16);
  EXPECT_EQ(smallest_device_count(request_of(job), default_profile()),
            (DeviceCount{smallest, true, /*whole_nodes=*/true}));
}

// Of very long sequences, which fit only cut into segments.
TEST(Shortage, CountsDevicesOnWhichAnotherScheduleFits) {
  v1alpha1::JobSpec job = gpu_job("llama3.2-1b", 1, "A100-40GB");
  job.mutable_training()->set_global_batch_sequences(64);
  job.mutable_training()->set_sequence_length(1 << 21);
  const DeviceCount count = smallest_device_count(request_of(job), default_profile());
  ASSERT_EQ(count, (DeviceCount{16, true, /*whole_nodes=*/true}));
  job.mutable_resources()->set_devices(*count.smallest);
  const SearchResult result = search_layouts(request_of(job), default_profile(), {});
  ASSERT_NE(result.chosen(), nullptr);
  EXPECT_TRUE(cuts_sequences(result.chosen()->layout.schedule)) << layout_label(result.chosen()->layout);
}

// A rack's switch joins 72 devices. One layer is no pipeline, and one sequence has no replicas.
TEST(Shortage, CountsNoDevicesOfALargerTensorSizeThanAJobMayHave) {
  PlanRequest request = request_of(gpu_job("llama2-7b", 1, "GB200"));
  request.training.sequence_length = 1 << 19;
  request.training.global_batch_sequences = 1;
  request.shape.layers = 1;
  request.shape.hidden = 65536;
  request.shape.heads = request.shape.kv_heads = 512;
  request.shape.ffn = 4 * request.shape.hidden;
  EXPECT_EQ(smallest_device_count(request, default_profile()), (DeviceCount{std::nullopt, true}));
  request.fixed.tensor = 64;
  EXPECT_EQ(smallest_device_count(request, default_profile()).smallest, 64) << "which no job can ask for";
}

// Whoever may make a job may make this one, and its plan is awaited by all others.
TEST(Shortage, OfAModelOfTooManyLayersNotAllNumbersOfDevicesAreTried) {
  CARAVAN_BY_TURNS();
  PlanRequest request = request_of(gpu_job("llama3-8b", 8));
  request.shape.layers = 2048;
  request.shape.hidden = 64;
  request.training.sequence_length = 1 << 24;
  request.training.global_batch_sequences = 65536;
  const SearchResult result = search_layouts(request, default_profile(), {});
  EXPECT_THAT(describe_shortage(request, default_profile(), result),
              AllOf(Not(IsEmpty()), Not(HasSubstr("umber of devices"))));
}

TEST(SearchLayouts, WhatCannotBeCountedIsRefused) {
  v1alpha1::JobSpec job = gpu_job("llama3.1-405b", 8);
  job.mutable_training()->set_sequence_length(1 << 22);
  EXPECT_TRUE(read_request(job, {}));
  job.mutable_parallelism()->set_micro_batch_size(65536);
  const auto refused = read_request(job, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("2.75e+11 tokens of a micro-batch are more than can be planned"));
}

// Of sums that have gone round, a job that no device holds would fit.
TEST(SearchLayouts, WeightsAndHeldMicroBatchesThatCannotBeCountedAreRefused) {
  v1alpha1::JobSpec held = gpu_job("llama3.1-8b", 8);
  held.mutable_training()->set_sequence_length(1 << 21);
  held.mutable_training()->set_global_batch_sequences(1 << 24);
  EXPECT_TRUE(read_request(held, {}));
  held.mutable_parallelism()->set_schedule("GPipe");
  const auto all_at_once = read_request(held, {});
  ASSERT_FALSE(all_at_once);
  EXPECT_THAT(all_at_once.error().message, HasSubstr("micro-batches that GPipe holds at once are more than"));
  held.mutable_parallelism()->set_micro_batch_size(32);
  held.mutable_training()->set_sequence_length(8192);
  held.mutable_training()->set_global_batch_sequences(1024);
  EXPECT_TRUE(read_request(held, {})) << "32 micro-batches";

  v1alpha1::JobSpec wide = gpu_job("llama3-8b", 1);
  wide.mutable_training()->set_sequence_length(128);
  wide.mutable_model()->clear_preset();
  v1alpha1::Architecture& model = *wide.mutable_model()->mutable_architecture();
  model.set_hidden_size(1 << 20);
  model.set_layers(2048);
  model.set_heads(1 << 16);
  model.set_kv_heads(1 << 16);
  model.set_head_dim(1024);
  model.set_ffn_size(1024);
  model.set_vocab_size(1024);
  const auto refused = read_request(wide, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("spec.model: "));
  EXPECT_THAT(refused.error().message, HasSubstr("parameters are more than can be planned for"));
}

// Attention in fp32 on a GPU has as many at once.
TEST(SearchLayouts, ScoresThatCannotBeCountedAreRefused) {
  v1alpha1::JobSpec job = gpu_job("llama3.1-405b", 8);
  job.mutable_training()->set_precision(v1alpha1::Precision::FP32);
  job.mutable_training()->set_sequence_length(1 << 22);
  const auto most = read_request(job, {});
  ASSERT_TRUE(most);
  EXPECT_EQ(search_layouts(*most, default_profile(), {}).chosen(), nullptr);
  job.mutable_model()->clear_preset();
  v1alpha1::Architecture& model = *job.mutable_model()->mutable_architecture();
  model.set_hidden_size(131072);
  model.set_layers(1);
  model.set_heads(65536);
  model.set_kv_heads(65536);
  model.set_ffn_size(1024);
  model.set_vocab_size(1024);
  const auto refused = read_request(job, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("are more than can be planned"));
}

TEST(SearchLayouts, StagesHaveABound) {
  PlanRequest request = request_of(gpu_job("llama3-8b", 1024));
  request.shape.layers = 2048;
  request.fixed.pipeline = 1024;
  const SearchResult result = search_layouts(request, default_profile(), {});
  EXPECT_FALSE(result.anything_legal());
  EXPECT_THAT(result.candidates.front().reason,
              HasSubstr("at most 512 stages are planned for; pipeline is 1024"));
}

// Or a job that no layout can be made for would be taken.
TEST(SearchLayouts, WhatTheSchemaTakesOfStagesCanBePlanned) {
  const auto rules_of = [](const char* field) {
    return v1alpha1::Parallelism::descriptor()->FindFieldByName(field)->options().GetExtension(
        v1alpha1::rules);
  };
  EXPECT_EQ(rules_of("pipeline").maximum(), kMostPipelineStages);
  EXPECT_EQ(static_cast<int>(rules_of("layers_per_stage").max_items()), kMostPipelineStages);
  EXPECT_EQ(rules_of("virtual_stages").unavailable_above(), default_profile().max_virtual_stages);
}

TEST(Shortage, SaysHowMuchMemoryWouldDoWhereNoChangeDoes) {
  PlanRequest request = request_of(gpu_job("llama3-70b", 8));
  const SearchResult result = search_layouts(request, default_profile(), {});
  const std::string says = describe_shortage(request, default_profile(), result);
  EXPECT_THAT(says, testing::ContainsRegex(" With [0-9.]+ GiB of memory each they would do\\.$"));
  const double gibibytes = std::stod(says.substr(says.rfind(" With ") + std::string(" With ").size()));
  const SearchResult enough =
      search_layouts(with_memory(request, std::llround(gibibytes * (1 << 30))), default_profile(), {});
  ASSERT_NE(enough.chosen(), nullptr);
  EXPECT_GE(*enough.chosen()->fit_chance, kSureToFit);

  request.fixed.tensor = 1;
  EXPECT_THAT(describe_shortage(request, default_profile(), search_layouts(request, default_profile(), {})),
              testing::ContainsRegex(" With [0-9.]+ GiB of memory each they would do with 1F1B\\.$"));
}

TEST(Shortage, SaysWhenNoNumberOfDevicesFits) {
  CARAVAN_BY_TURNS();
  PlanRequest request = request_of(gpu_job("llama3.1-405b", 1 << 17));
  request.training.sequence_length = 1 << 24;
  const SearchResult result = search_layouts(request, default_profile(), {});
  EXPECT_THAT(describe_shortage(request, default_profile(), result),
              HasSubstr("No number of devices up to 131072 fits."));
}

TEST(SearchLayouts, SayWhichRuleForbidsLessSplittingWhereMemoryDoesNot) {
  v1alpha1::JobSpec job = cpu_job("llama-mini", 3);
  job.mutable_training()->set_global_batch_sequences(8);
  EXPECT_THAT(reason_of_pick(request_of(job)),
              HasSubstr("That is the least splitting that is possible: a device needs "));
  EXPECT_THAT(reason_of_pick(request_of(job)),
              HasSubstr("Of TP1 PP1 DP3: globalBatchSequences must be divisible by data x microBatchSize"));
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
  EXPECT_THAT(reason_of_pick(tight),
              testing::ContainsRegex(", with activation checkpointing of [0-9]+ of 32 layers, without which "
                                     "nothing fits"));
}

TEST(SearchLayouts, TellOfABubbleThatMoreMicroBatchesWouldFill) {
  PlanRequest request = request_of(gpu_job("llama3-8b", 4));
  request.fixed.tensor = 1;
  request.fixed.pipeline = 4;
  request.fixed.data = 1;
  request.fixed.schedule = ScheduleKind::ZeroBubbleH2;
  request.training.global_batch_sequences = 5;
  EXPECT_THAT(
      reason_of_pick(request),
      HasSubstr(". ZBH2 is made for 7 micro-batches or more on 4 stages; with 5 its bubble is longer."));
  request.training.global_batch_sequences = 8;
  EXPECT_THAT(reason_of_pick(request), testing::Not(HasSubstr("ZBH2")));
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
  PlanRequest zero_bubble = gpipe;  // 72 GiB, of which ZBH1 holds 49
  zero_bubble.fixed.schedule = ScheduleKind::ZeroBubbleH2;
  zero_bubble.fixed.tensor = zero_bubble.fixed.data = 1;
  zero_bubble.devices.memory_bytes = int64_t{64} << 30;
  PlanRequest manual = request_of(gpu_job("llama3-8b", 8));
  manual.fixed.tensor = manual.fixed.pipeline = 1;
  manual.fixed.data = 8;
  manual.fixed.checkpointing = CheckpointingPolicy::Never;
  PlanRequest in_chunks = request_of(gpu_job("llama3-8b", 8));  // 53.6 GiB, and 48.4 GiB with 1F1B
  in_chunks.fixed.pipeline = 8;
  in_chunks.fixed.virtual_stages = 4;
  in_chunks.fixed.checkpointing = CheckpointingPolicy::Never;
  in_chunks.devices.memory_bytes = int64_t{54} << 30;
  PlanRequest unsharded = request_of(gpu_job("llama3-8b", 8, "H200"));
  unsharded.fixed.data = 8;
  unsharded.fixed.zero_stage = 0;
  PlanRequest long_sequence = request_of(gpu_job("llama3-8b", 8));
  long_sequence.training.sequence_length = 1 << 21;
  const Change cases[] = {
      {"checkpointing forbidden", never, "is spec.parallelism.activationCheckpointing: WhenNeeded"},
      {"micro-batch too large", large_batch, "is spec.parallelism.microBatchSize: "},
      {"schedule that holds all", gpipe, "is spec.parallelism.schedule: 1F1B"},
      {"schedule that holds twice as many", zero_bubble, "is spec.parallelism.schedule: ZBH1"},
      {"chunks", in_chunks, "is spec.parallelism.schedule: 1F1B, without spec.parallelism.virtualStages."},
      {"states on every replica", unsharded, "is spec.parallelism.zeroStage: 1."},
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

TEST(Search, ListsWhatOnlyTakesMemoryBeforeWhatComputesTwiceWhereNoSpeedIsKnown) {
  PlanRequest request = request_of(gpu_job("llama2-13b", 64, "A100-80GB"));
  request.devices.known.reset();
  const SearchResult result = search_layouts(request, default_profile(), {.all_candidates = true});
  int without_sequence_parallelism = 0;
  for (const bool risky : {false, true}) {
    bool checkpointing = false;
    for (const EvaluatedLayout& candidate : result.candidates) {
      if (!candidate.fits || candidate.preference.risky != risky) continue;
      checkpointing |= candidate.layout.activation_checkpointing;
      EXPECT_EQ(candidate.layout.activation_checkpointing, checkpointing) << layout_label(candidate.layout);
      if (!checkpointing && candidate.layout.mesh.tensor > 1)
        without_sequence_parallelism += !candidate.layout.sequence_parallel;
    }
    EXPECT_TRUE(checkpointing || risky);
  }
  EXPECT_GT(without_sequence_parallelism, 0);
}

}  // namespace
}  // namespace caravan::planner
