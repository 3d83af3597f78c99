#include "planner/memory/memory_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "planner/memory/host_memory.h"
#include "planner/memory/stage_parameters.h"
#include "planner/memory/stage_shape.h"
#include "planner/model/parameters.h"
#include "planner/schedule/segments.h"
#include "planner/testing/jobs.h"
#include "planner/work/stage_footprint.h"

namespace caravan::planner {
namespace {

std::vector<Layout> layouts_of(const PlanRequest& request) {
  std::vector<Layout> layouts;
  for (const int tensor : {1, 2}) {
    for (const int pipeline : {1, 2, 3, 4}) {
      for (const int data : {1, 2, 3}) {
        for (const bool checkpointing : {false, true}) {
          for (const ScheduleKind schedule : {ScheduleKind::GPipe, ScheduleKind::OneFOneB}) {
            Layout layout = layout_of(request, tensor, pipeline, data);
            layout.activation_checkpointing = checkpointing;
            layout.schedule = schedule;
            layouts.push_back(layout);
          }
        }
      }
    }
  }
  return layouts;
}

StageElements elements_of(const ModelShape& shape, const Layout& layout, int stage) {
  return stage_elements(shape, layout, place_layers(layout), stage);
}

TEST(StageElements, OfOneRankAreTheModelsParametersUpToPadding) {
  for (const char* preset : {"llama-tiny", "llama3.2-1b", "llama3-8b"}) {
    const PlanRequest request = request_of(cpu_job(preset, 1));
    const StageElements elements = elements_of(request.shape, layout_of(request, 1, 1, 1), 0);
    EXPECT_EQ(elements.values, parameter_count(request.shape)) << preset;
    EXPECT_EQ(elements.states, elements.values) << preset;
  }
}

TEST(StageElements, StagesShareTheModelAndTiedTablesStandTwice) {
  PlanRequest request = request_of(cpu_job("llama3.2-1b", 1));
  const Layout layout = layout_of(request, 1, 4, 1);
  int64_t sum = 0;
  for (int stage = 0; stage < 4; ++stage) sum += elements_of(request.shape, layout, stage).values;
  EXPECT_EQ(sum, parameter_count(request.shape) + embedding_parameters(request.shape));
}

TEST(StageElements, ZeroOneSharesTheStates) {
  const PlanRequest request = request_of(cpu_job("llama-mini", 1));
  Layout layout = layout_of(request, 1, 1, 4);
  const StageElements sharded = elements_of(request.shape, layout, 0);
  EXPECT_EQ(sharded.states * 4, sharded.values);
  layout.zero_stage = 0;
  EXPECT_EQ(elements_of(request.shape, layout, 0).states, sharded.values);
}

TEST(StageElements, TheVocabularyIsPaddedToAMultipleOfTheTensorSize) {
  PlanRequest request = request_of(cpu_job("llama-tiny", 1));
  const Layout layout = layout_of(request, 2, 1, 1);
  const StageElements even = elements_of(request.shape, layout, 0);
  request.shape.vocab -= 1;
  EXPECT_EQ(elements_of(request.shape, layout, 0).values, even.values);
}

TEST(MemoryModel, TheTermsAddUpToThePeak) {
  for (const auto& job : {cpu_job("llama-mini", 1), gpu_job("llama3-8b", 1)}) {
    const PlanRequest request = request_of(job);
    for (const Layout& layout : layouts_of(request)) {
      const LayoutMemory memory = predict_memory(request, layout, default_profile());
      int64_t sum = 0;
      for (const MemoryTerm& term : kMemoryTerms) {
        const int64_t bytes = memory.terms.*term.bytes;
        EXPECT_GE(bytes, 0) << term.name;
        sum += bytes;
      }
      EXPECT_EQ(sum, memory.peak_bytes());
    }
  }
}

TEST(MemoryModel, OnGpusTheEndsOfATiedModelFormAGroupMore) {
  PlanRequest request = request_of(gpu_job("llama3-8b", 8));
  const auto communication_of = [&](int stage) {
    const Layout layout = layout_of(request, 1, 4, 2);
    return predict_stage_memory(request, layout, stage, default_profile()).communication;
  };
  const int64_t usual = communication_of(1);
  EXPECT_EQ(communication_of(0), usual);
  request.shape.tied_embeddings = true;
  EXPECT_EQ(communication_of(0), usual + default_profile().gpu_communication_group_bytes);
  EXPECT_EQ(communication_of(3), usual + default_profile().gpu_communication_group_bytes);
  EXPECT_EQ(communication_of(1), usual);
}

// They lie in the host's memory.
TEST(MemoryModel, OfRanksOnGpusTheTokensOfTheWholeBatchAreTheHosts) {
  v1alpha1::JobSpec job = gpu_job("llama3-8b", 8);
  const auto activations_of = [&](int sequences) {
    job.mutable_training()->set_global_batch_sequences(sequences);
    const PlanRequest request = request_of(job);
    return predict_memory(request, layout_of(request, 8, 1, 1), default_profile()).terms.activations;
  };
  EXPECT_EQ(activations_of(1 << 20), activations_of(16));

  v1alpha1::Plan plan;
  plan.set_data(2);
  job.mutable_training()->set_global_batch_sequences(16);
  const int64_t inputs = int64_t{8} * 8192 * 8;
  EXPECT_EQ(host_bytes(plan, 8, job.training()), 8 * (kHostBytesOfARank + 2 * inputs));
}

TEST(MemoryModel, TheBindingStageNeedsTheMostOfAllStages) {
  const PlanRequest request = request_of(cpu_job("llama-mini", 1));
  for (Layout layout : layouts_of(request)) {
    for (int turn = 0; turn < layout.mesh.pipeline; ++turn) {
      std::rotate(layout.layers_per_stage.begin(), layout.layers_per_stage.begin() + 1,
                  layout.layers_per_stage.end());
      const LayoutMemory memory = predict_memory(request, layout, default_profile());
      int64_t highest = 0;
      for (int stage = 0; stage < layout.mesh.pipeline; ++stage) {
        highest = std::max(highest, predict_stage_memory(request, layout, stage, default_profile()).total());
      }
      EXPECT_EQ(memory.peak_bytes(), highest);
      EXPECT_EQ(predict_stage_memory(request, layout, memory.binding_stage, default_profile()), memory.terms);
    }
  }
}

// The first segment has the most tokens, and a later stage may hold it when an earlier one does not.
TEST(MemoryModel, TheBindingStageOfCutSequencesMayBeALaterOne) {
  PlanRequest request = request_of(gpu_job("llama3-8b", 64));
  request.training.sequence_length = 1 << 20;
  request.training.global_batch_sequences = 4;
  Layout layout = layout_of(request, 1, 16, 1);
  layout.schedule = ScheduleKind::Seq1F1B;
  layout.activation_checkpointing = true;
  layout.segments = balanced_segments(1 << 20, 4, 1, token_cost(request.shape));
  --layout.layers_per_stage.front();
  ++layout.layers_per_stage.back();
  const LayoutMemory memory = predict_memory(request, layout, default_profile());
  EXPECT_EQ(memory.binding_stage, 7);
  for (int stage = 0; stage < 16; ++stage) {
    EXPECT_LE(predict_stage_memory(request, layout, stage, default_profile()).total(), memory.peak_bytes())
        << stage;
  }
}

TEST(MemoryModel, WithOneFOneBMoreMicroBatchesNeedOnlyTheirTokens) {
  PlanRequest few = request_of(cpu_job("llama-mini", 1));
  const Layout layout = layout_of(few, 1, 4, 1);
  PlanRequest many = few;
  few.training.global_batch_sequences = 8;
  many.training.global_batch_sequences = 4000;
  const int64_t tokens = (4000 - 8) * 64 * 8;
  for (int stage = 0; stage < 4; ++stage) {
    const MemoryTerms less = predict_stage_memory(few, layout, stage, default_profile());
    const MemoryTerms more = predict_stage_memory(many, layout, stage, default_profile());
    const bool reads_tokens = stage == 0 || stage == 3;
    EXPECT_EQ(more.activations - less.activations, reads_tokens ? tokens : 0) << "stage " << stage;
    EXPECT_EQ(more.total() - less.total(), reads_tokens ? tokens : 0) << "stage " << stage;
  }
}

TEST(MemoryModel, GPipeHoldsEveryMicroBatch) {
  PlanRequest request = request_of(cpu_job("llama-mini", 1));
  Layout layout = layout_of(request, 1, 2, 1);
  layout.schedule = ScheduleKind::GPipe;
  const int64_t kept = stage_footprint(stage_shape(request, layout, place_layers(layout).groups[0])).kept;
  const int64_t tokens = request.training.sequence_length * 8;
  const int64_t before = predict_stage_memory(request, layout, 0, default_profile()).activations;
  request.training.global_batch_sequences += 100;
  EXPECT_EQ(predict_stage_memory(request, layout, 0, default_profile()).activations,
            before + 100 * (kept + tokens));
}

// 1F1B on stage s holds p - s micro-batches, ZBH1 as many and the weights' part of s more, ZBH2 2(p - s) - 1
// and that of 2s.
TEST(MemoryModel, MicroBatchesWhoseWeightsWaitAreHeldInPart) {
  PlanRequest request = request_of(cpu_job("llama-mini", 1));
  request.training.global_batch_sequences = 64;
  Layout layout = layout_of(request, 1, 4, 1);
  const auto held = [&](ScheduleKind kind, int stage) {
    layout.schedule = kind;
    return predict_stage_memory(request, layout, stage, default_profile()).activations;
  };
  const StageFootprint middle = stage_footprint(stage_shape(request, layout, place_layers(layout).groups[1]));
  EXPECT_LT(middle.waiting, middle.kept);
  // Messages come and go: a stage need not be fullest at the same of its ops.
  const auto messages = static_cast<double>(3 * middle.boundary);
  ASSERT_LT(2 * messages, static_cast<double>(middle.waiting));
  const auto more = [&](ScheduleKind kind, int stage) {
    return static_cast<double>(held(kind, stage) - held(ScheduleKind::OneFOneB, stage));
  };
  for (const int stage : {1, 2}) {
    const int64_t waiting = stage * middle.waiting;
    EXPECT_NEAR(more(ScheduleKind::ZeroBubbleH1, stage), static_cast<double>(waiting), messages) << stage;
    const int64_t kept = (4 - stage - 1) * middle.kept;
    EXPECT_NEAR(more(ScheduleKind::ZeroBubbleH2, stage), static_cast<double>(kept + 2 * waiting), messages)
        << stage;
  }
}

TEST(MemoryModel, CheckpointingAndShardingNeverNeedMore) {
  const PlanRequest request = request_of(gpu_job("llama3-8b", 1));
  for (Layout layout : layouts_of(request)) {
    if (layout.activation_checkpointing) continue;
    const int64_t whole = predict_memory(request, layout, default_profile()).peak_bytes();
    Layout checkpointed = layout;
    checkpointed.activation_checkpointing = true;
    EXPECT_LE(predict_memory(request, checkpointed, default_profile()).peak_bytes(), whole);
    Layout unsharded = layout;
    unsharded.zero_stage = 0;
    EXPECT_GE(predict_memory(request, unsharded, default_profile()).peak_bytes(), whole);
  }
}

TEST(MemoryModel, ACpuHasNoOverheadOutsideItsTensors) {
  const PlanRequest request = request_of(cpu_job("llama-tiny", 2));
  EXPECT_EQ(predict_memory(request, layout_of(request, 2, 1, 1), default_profile()).terms.overhead, 0);
}

TEST(MemoryModel, MasterWeightsStandBesideBf16Only) {
  PlanRequest request = request_of(cpu_job("llama-tiny", 1));
  const Layout layout = layout_of(request, 1, 1, 1);
  const int64_t elements = elements_of(request.shape, layout, 0).values;
  EXPECT_EQ(predict_memory(request, layout, default_profile()).terms.parameters, 4 * elements);
  EXPECT_EQ(predict_memory(request, layout, default_profile()).terms.optimizer, 8 * elements);
  request.training.bf16 = true;
  EXPECT_EQ(predict_memory(request, layout, default_profile()).terms.parameters, 2 * elements);
  EXPECT_EQ(predict_memory(request, layout, default_profile()).terms.optimizer, 12 * elements);
  EXPECT_EQ(predict_memory(request, layout, default_profile()).terms.gradients, 4 * elements);
}

// Rajbhandari et al., arXiv 1910.02054, figure 1, for fp32 gradients, master copy and moments.
TEST(MemoryModel, ZeroStagesCutMoreAndMoreOverTheReplicas) {
  const PlanRequest request = request_of(gpu_job("llama3-8b", 8));
  Layout layout = layout_of(request, 1, 1, 8);
  const auto standing = [&](int zero_stage) {
    layout.zero_stage = zero_stage;
    const MemoryTerms terms = predict_stage_memory(request, layout, 0, default_profile());
    return std::array{terms.parameters, terms.gradients, terms.optimizer};
  };
  const auto [values, gradients, states] = standing(0);
  EXPECT_EQ(gradients, 2 * values);
  EXPECT_EQ(states, 6 * values);
  EXPECT_EQ(standing(1), (std::array{values, gradients, states / 8}));
  EXPECT_EQ(standing(2), (std::array{values, gradients / 8, states / 8}));
  EXPECT_EQ(standing(3), (std::array{values / 8, gradients / 8, states / 8}));
}

// Narayanan et al., arXiv 2104.04473, section 2.2.
TEST(MemoryModel, InterleavedStagesHoldMoreMicroBatches) {
  const PlanRequest request = request_of(gpu_job("llama3-8b", 4));
  EngineProfile profile = default_profile();
  profile.activations = ActivationCoefficients{.replicated = 8, .hidden = 12, .ffn = 8};
  Layout layout = layout_of(request, 1, 4, 1);
  const auto kept = [&] {
    return static_cast<double>(predict_stage_memory(request, layout, 1, profile).activations);
  };
  const double plain = kept();
  layout.schedule = ScheduleKind::Interleaved;
  layout.virtual_stages = 2;
  EXPECT_NEAR(kept() / plain, 4.5 / 3, 1e-6);  // peaks of 3 and (2 · 2 + 4 + 1)/2 micro-batches
}

}  // namespace
}  // namespace caravan::planner
