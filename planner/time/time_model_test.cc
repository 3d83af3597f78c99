#include "planner/time/time_model.h"

#include <gtest/gtest.h>

#include "planner/model/parameters.h"
#include "planner/testing/jobs.h"
#include "planner/time/block_times.h"

namespace caravan::planner {
namespace {

TEST(TimeModel, SaysNothingAboutSecondsOfUnknownDevices) {
  const PlanRequest request = request_of(cpu_job("llama-mini", 4));
  const StepTime time = predict_step_time(request, layout_of(request, 1, 4, 1), default_profile());
  EXPECT_FALSE(time.seconds);
  EXPECT_FALSE(time.mfu);
  EXPECT_GT(time.bubble_fraction, 0);
}

TEST(TimeModel, TheBubbleOfEvenStagesIsThatOfTheClosedForm) {
  PlanRequest request = request_of(cpu_job("llama-mini", 4));
  request.shape.vocab = 0;  // a head makes the last stage slower
  const int micro_batches = 24;
  const StepTime time = predict_step_time(request, layout_of(request, 1, 4, 1), default_profile());
  EXPECT_NEAR(time.bubble_fraction, 3.0 / (micro_batches + 3), 1e-9);
}

TEST(TimeModel, AHeadOnTheLastStageAddsToTheBubble) {
  PlanRequest small = request_of(gpu_job("llama3-8b", 4));
  PlanRequest large = small;
  large.shape.vocab *= 4;
  const Layout layout = layout_of(small, 1, 4, 1);
  EXPECT_GT(predict_step_time(large, layout, default_profile()).seconds,
            predict_step_time(small, layout, default_profile()).seconds);
}

TEST(TimeModel, MoreMicroBatchesShrinkTheBubble) {
  PlanRequest request = request_of(gpu_job("llama3-8b", 4));
  double previous = 1;
  for (const int64_t sequences : {4, 8, 16, 64, 256, 4096}) {
    request.training.global_batch_sequences = sequences;
    const double bubble =
        predict_step_time(request, layout_of(request, 1, 4, 1), default_profile()).bubble_fraction;
    EXPECT_LT(bubble, previous) << sequences;
    previous = bubble;
  }
}

TEST(TimeModel, LongStepsGrowByTheSameTimeForEveryMicroBatch) {
  PlanRequest request = request_of(gpu_job("llama3-8b", 4));
  const Layout layout = layout_of(request, 1, 4, 1);
  const auto seconds = [&](int64_t sequences) {
    request.training.global_batch_sequences = sequences;
    return *predict_step_time(request, layout, default_profile()).seconds;
  };
  // 12 is timed op by op, the others are extrapolated.
  EXPECT_NEAR(seconds(13) - seconds(12), seconds(1001) - seconds(1000), 1e-6);
}

TEST(TimeModel, SegmentsBehindTheFirstOneHaveTheirOwnAttentionOnGpus) {
  PlanRequest request = request_of(gpu_job("llama3-8b", 4));
  Layout layout = layout_of(request, 1, 4, 1);
  layout.schedule = ScheduleKind::Seq1F1B;
  layout.segments = {4096, 4096};
  EngineProfile slow = default_profile(), fast = default_profile();
  slow.segment_attention_efficiency = fast.attention_efficiency / 2;
  fast.segment_attention_efficiency = {};
  const auto forward = [&](const EngineProfile& profile, int segment) {
    return block_times(request, layout, profile, segment).layer.work.forward;
  };
  EXPECT_EQ(forward(slow, 0), forward(fast, 0));
  const double attention = 2.0 * 32 * 128 * 4096 * (4096 + 2 * 4096);
  EXPECT_NEAR(forward(slow, 1) - forward(fast, 1), attention / (989e12 * fast.attention_efficiency), 1e-9);
  request.devices.gpu = false;
  EXPECT_EQ(forward(slow, 1), forward(fast, 1));
}

TEST(TimeModel, AttentionOfFp32OnGpusIsPlainProductsOfAllScores) {
  PlanRequest request = request_of(gpu_job("llama3-8b", 1));
  request.training.bf16 = false;
  EngineProfile profile = default_profile();
  profile.gemm_half_size = profile.layer_overhead_seconds = 0;
  const auto forward = [&](int64_t tokens) {
    request.training.sequence_length = tokens;
    return block_times(request, layout_of(request, 1, 1, 1), profile).layer.work.forward;
  };
  // All else grows with the tokens.
  const double attention = (forward(16384) - 2 * forward(8192)) / 2;
  const double scores = 32.0 * 8192 * 8192;
  EXPECT_NEAR(attention, 2 * scores * 2 * 128 / (67e12 * profile.gemm_efficiency), 1e-6);
}

// Of its own slice a rank updates the states; the gradients of all others it makes zero.
TEST(TimeModel, AnUpdatePassesOverAllGradientsHoweverManyReplicasShareIt) {
  const PlanRequest request = request_of(gpu_job("llama3-8b", 64));
  const Layout layout = layout_of(request, 1, 1, 64);
  const double seconds = predict_step_time(request, layout, default_profile()).parts->optimizer;
  const auto values = static_cast<double>(parameter_count(request.shape));
  EXPECT_GE(seconds, values * default_profile().gradient_bytes / request.devices.known->memory_bandwidth);
}

TEST(TimeModel, TheCopiesOfATiedTableSendEachOtherTheirGradients) {
  PlanRequest tied = request_of(gpu_job("llama3-8b", 8));
  tied.shape.tied_embeddings = true;
  PlanRequest apart = tied;
  apart.shape.tied_embeddings = false;
  const auto more_traffic = [&](const Layout& layout) {
    const auto traffic = [&](const PlanRequest& request) {
      return predict_step_time(request, layout, default_profile()).parts->data_traffic;
    };
    return traffic(tied) - traffic(apart);
  };
  const double whole = more_traffic(layout_of(tied, 1, 2, 1));
  EXPECT_GT(whole, 0);
  EXPECT_NEAR(more_traffic(layout_of(tied, 2, 2, 1)) / whole, 0.5, 0.05);
  EXPECT_LT(more_traffic(layout_of(tied, 1, 1, 8)), 1e-12);
}

// Query-key-value and gate-up; without a known device a FLOP takes a second.
TEST(TimeModel, OnlyTheGradientsOfWeightsThatMayWaitHideInTheBubble) {
  const PlanRequest request = request_of(cpu_job("llama-mini", 4));
  const Layout layout = layout_of(request, 1, 4, 1);
  const PhaseTimes stage = predict_pipeline_times(request, layout, default_profile()).ops.groups[1];
  const ModelShape& model = request.shape;
  const int64_t outputs = (model.heads + 2 * model.kv_heads) * model.head_dim + 2 * model.ffn;
  EXPECT_DOUBLE_EQ(stage.backward_weight,
                   static_cast<double>(layout.layers_per_stage[1] * 2 * request.training.sequence_length *
                                       model.hidden * outputs));
}

TEST(TimeModel, ATransferBetweenStagesTakesItsLatency) {
  const PlanRequest request = request_of(gpu_job("llama3-8b", 4));
  const Layout layout = layout_of(request, 1, 4, 1);
  EngineProfile slow = default_profile();
  slow.collective_latency_seconds += 1e-3;
  EXPECT_NEAR(predict_pipeline_times(request, layout, slow).ops.transfer,
              predict_pipeline_times(request, layout, default_profile()).ops.transfer + 1e-3, 1e-12);
}

TEST(TimeModel, CheckpointingCostsAboutAnotherForward) {
  const PlanRequest request = request_of(gpu_job("llama2-7b", 8));
  Layout layout = layout_of(request, 1, 1, 8);
  const double kept = *predict_step_time(request, layout, default_profile()).seconds;
  layout.activation_checkpointing = true;
  const double recomputed = *predict_step_time(request, layout, default_profile()).seconds;
  EXPECT_GT(recomputed / kept, 1.2);
  EXPECT_LT(recomputed / kept, 1.4);
}

TEST(TimeModel, TensorParallelTrafficCostsMoreThanPipelineTransfers) {
  PlanRequest request = request_of(gpu_job("llama3-8b", 8));
  request.shape.vocab = 1024;  // a head makes the last stage slower
  const auto tensor = predict_step_time(request, layout_of(request, 8, 1, 1), default_profile());
  const auto pipeline = predict_step_time(request, layout_of(request, 1, 8, 1), default_profile());
  EXPECT_GT(tensor.seconds, pipeline.seconds);
}

TEST(TimeModel, TheThreeUtilisationsDifferByAttentionAndByWhatIsComputedAgain) {
  const PlanRequest request = request_of(gpu_job("llama2-7b", 8));
  Layout layout = layout_of(request, 1, 1, 8);
  layout.activation_checkpointing = true;
  const StepTime time = predict_step_time(request, layout, default_profile());
  const double tokens_each = 2048.0 * 8192 / 8 / *time.seconds;
  const double products = 6.0 * (6'738'415'616 - 32'000LL * 4096);
  const double attention = 12.0 * 32 * 32 * 128 * 8192;
  // Neither norms, which are no products, nor the down projection, which no backward needs.
  const double layers_again = 32 * 2.0 * (4LL * 4096 * 4096 + 2LL * 4096 * 11008) + attention / 3;
  EXPECT_NEAR(*time.mfu, (products + attention) * tokens_each / 989e12, 1e-12);
  EXPECT_NEAR(*time.mfu_causal, (products + attention / 2) * tokens_each / 989e12, 1e-12);
  EXPECT_NEAR(*time.hfu, (products + attention + layers_again) * tokens_each / 989e12, 1e-12);
}

TEST(TimeModel, NothingRunsFasterThanThePeak) {
  for (const auto& job :
       {gpu_job("llama3-8b", 8), gpu_job("llama3-70b", 64), gpu_job("llama2-13b", 64, "A100-80GB")}) {
    const PlanRequest request = request_of(job);
    const StepTime time =
        predict_step_time(request, layout_of(request, 4, 2, request.devices.count / 8), default_profile());
    EXPECT_GT(*time.mfu, 0.2);
    EXPECT_LT(*time.mfu, 0.7);
  }
}

TEST(TimeModel, EveryCollectiveTakesItsLatency) {
  PlanRequest request = request_of(gpu_job("llama3-8b", 8));
  request.training.sequence_length = 32768;
  const Layout layout = layout_of(request, 8, 1, 1);
  EngineProfile profile = default_profile();
  const auto traffic = [&](double latency) {
    profile.collective_latency_seconds = latency;
    return predict_step_time(request, layout, profile).parts->tensor_traffic;
  };
  // Of a layer two all-gathers and two reduce-scatters forward, as many backward and two all-gathers more for
  // weight gradients; the ends enter and leave the region twice each but for the embedding, and the softmax
  // of each chunk of logits takes two sums. For each of 2048 micro-batches.
  const int chunks = 4;  // of 8371 tokens, so that 32768 x 16032 logits never exist at once
  EXPECT_NEAR(traffic(1e-3) - traffic(0), 1e-3 * (10 * 32 + 2 + 2 + 2 * chunks) * 2048, 1e-6);
}

TEST(TimeModel, PredictsSecondsOfCpusThatTheUserDescribes) {
  DeviceProduct cpu{.name = "my-cpu", .memory_bytes = 1LL << 34, .peak_flops = 1e11, .matrix_flops = 8e10};
  cpu.memory_bandwidth = cpu.node_bandwidth = cpu.network_bandwidth = 1e10;
  v1alpha1::JobSpec job = cpu_job("llama-mini", 4);
  job.mutable_resources()->mutable_device()->set_product("my-cpu");
  const PlanRequest request = read_request(job, {.own_products = {cpu}}).value();
  EXPECT_TRUE(predict_step_time(request, layout_of(request, 1, 4, 1), default_profile()).seconds);
}

}  // namespace
}  // namespace caravan::planner
