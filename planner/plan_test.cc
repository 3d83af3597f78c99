#include "planner/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "planner/memory/memory_model.h"
#include "planner/report.h"
#include "planner/schedule/generate.h"
#include "planner/search/search.h"
#include "planner/testing/jobs.h"

namespace caravan::planner {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Cluster {
  std::string preset;
  int devices;
  int layers;
};

TEST(PlanJob, GivesTheLargeModelsALegalLayoutWithoutCheckpointing) {
  for (const auto& [preset, devices, layers] :
       {Cluster{"llama3-8b", 8, 32}, Cluster{"llama3-8b", 64, 32}, Cluster{"llama3-70b", 64, 80},
        Cluster{"llama3.1-405b", 8192, 126}}) {
    const auto report = plan_job(gpu_job(preset, devices), {}, default_profile());
    ASSERT_TRUE(report) << preset << ": " << report.error().message;
    const v1alpha1::Plan& plan = report->plan();
    EXPECT_EQ(plan.tensor() * plan.pipeline() * plan.data(), devices) << preset;
    EXPECT_LE(plan.tensor(), 8) << preset;
    EXPECT_EQ(plan.micro_batch_size(), 1) << preset;
    EXPECT_EQ(plan.activation_checkpointing(), v1alpha1::ActivationCheckpointing::Never) << preset;
    EXPECT_EQ(plan.sequence_parallel(), plan.tensor() > 1) << preset;
    EXPECT_LE(plan.peak_bytes(), plan.usable_bytes()) << preset;
    EXPECT_EQ(plan.peak_bytes_per_stage_size(), plan.pipeline()) << preset;
    EXPECT_EQ(plan.peak_bytes_per_stage(plan.binding_stage()), plan.peak_bytes()) << preset;
    EXPECT_EQ(plan.gradient_accumulation() * plan.data(), 2048) << preset;
    EXPECT_EQ(std::accumulate(plan.layers_per_stage().begin(), plan.layers_per_stage().end(), 0), layers);
    EXPECT_EQ(plan.source(), "HeuristicSelected") << preset;
    EXPECT_GT(plan.mfu(), 0.2) << preset;
    EXPECT_LT(plan.mfu(), 0.7) << preset;
    EXPECT_EQ(report->candidates(0).verdict(), v1alpha1::Verdict::Chosen) << preset;
    EXPECT_EQ(report->candidates(0).peak_bytes(), plan.peak_bytes()) << preset;
  }
}

TEST(PlanJob, RefusesMoreNodesThanAJobMayHave) {
  const auto error_on = [](int devices, int devices_per_node) {
    const auto report =
        plan_job(gpu_job("llama3-8b", devices), {.devices_per_node = devices_per_node}, default_profile());
    return report ? "" : report.error().message;
  };
  EXPECT_EQ(error_on(16384, 4), "");
  EXPECT_EQ(error_on(65540, 4),
            "spec.resources.devices: devices must be at most 16384 x devicesPerNode: a job may have at most "
            "16384 nodes; devices is 65540, devicesPerNode is 4");
}

TEST(PlanJob, SaysWhenNothingFitsAndStillListsTheCandidates) {
  const PlanAnswer answer = answer_job(gpu_job("llama3-70b", 8), {}, default_profile());
  ASSERT_TRUE(answer.error);
  EXPECT_EQ(answer.error->code, ExitCode::kDoesNotFit);
  EXPECT_THAT(answer.error->message, HasSubstr("The smallest number of devices that fits is 24."));
  EXPECT_FALSE(answer.report.has_plan());
  EXPECT_GT(answer.report.candidates_size(), 10);
}

TEST(PlanJob, PredictsNoSpeedForCpus) {
  const auto report = plan_job(cpu_job("llama-mini", 2), {}, default_profile());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->plan().has_step_seconds());
  EXPECT_FALSE(report->plan().has_mfu());
  EXPECT_FALSE(report->plan().has_device_peak_flops());
  EXPECT_EQ(report->plan().usable_bytes(), 0);
}

TEST(PlanJob, TakesTheMemoryOfTheJobBeforeThatOfTheMachine) {
  v1alpha1::JobSpec spec = cpu_job("llama-mini", 2);
  const DeviceFacts machine{.memory_bytes = int64_t{4} << 30};
  EXPECT_EQ(plan_job(spec, machine, default_profile())->plan().usable_bytes(),
            static_cast<int64_t>(0.94 * static_cast<double>((int64_t{4} << 30) - (int64_t{164} << 20))))
      << "less what the process and its thread need";
  spec.mutable_resources()->mutable_device()->set_memory("1Mi");
  EXPECT_EQ(plan_job(spec, machine, default_profile()).error().code, ExitCode::kDoesNotFit);
}

TEST(PlanJob, ExecutesWhatTheUserSays) {
  v1alpha1::JobSpec spec = cpu_job("llama-mini", 4);
  v1alpha1::Parallelism& parallelism = *spec.mutable_parallelism();
  parallelism.set_mode(v1alpha1::Parallelism::Manual);
  parallelism.set_tensor(2);
  parallelism.set_pipeline(2);
  parallelism.set_data(1);
  parallelism.set_micro_batch_size(4);
  parallelism.set_schedule("GPipe");
  parallelism.set_sequence_parallel(false);
  parallelism.add_layers_per_stage(3);
  parallelism.add_layers_per_stage(5);
  parallelism.set_zero_stage(0);
  parallelism.set_activation_checkpointing(v1alpha1::ActivationCheckpointing::Always);
  const auto report = plan_job(spec, {}, default_profile());
  ASSERT_TRUE(report) << report.error().message;
  const v1alpha1::Plan& plan = report->plan();
  EXPECT_EQ(plan.tensor(), 2);
  EXPECT_EQ(plan.pipeline(), 2);
  EXPECT_EQ(plan.micro_batch_size(), 4);
  EXPECT_EQ(plan.gradient_accumulation(), 6);
  EXPECT_EQ(plan.schedule(), "GPipe");
  EXPECT_FALSE(plan.sequence_parallel());
  EXPECT_EQ(plan.layers_per_stage(0), 3);
  EXPECT_EQ(plan.zero_stage(), 0);
  EXPECT_EQ(plan.activation_checkpointing(), v1alpha1::ActivationCheckpointing::Always);
  EXPECT_EQ(plan.source(), "UserSpecified");
}

// From which every rank makes the lists that the plan was made with.
TEST(PlanJob, CarriesWhatOpListsAreArrangedFor) {
  v1alpha1::JobSpec job = gpu_job("llama3-8b", 4);
  job.mutable_parallelism()->set_pipeline(4);
  job.mutable_parallelism()->set_schedule("VHalf");
  const PlanRequest request = read_request(job, {}).value();
  const SearchResult found = search_layouts(request, default_profile(), {});
  ASSERT_NE(found.chosen(), nullptr);
  const Layout& layout = found.chosen()->layout;
  ASSERT_EQ(layout.group_times.size(), 8U);
  EXPECT_GT(layout.group_times[7].forward, layout.group_times[3].forward) << "the head";
  v1alpha1::Plan plan;
  write_layout(layout, plan);
  EXPECT_EQ(layout_value(plan), layout);
  EXPECT_EQ(generate_schedule(layout_value(plan).schedule_of(24)), generate_schedule(layout.schedule_of(24)));
}

TEST(PlanJob, TheSameJobGivesTheSameBytes) {
  const auto first = plan_job(gpu_job("llama3-8b", 16), {}, default_profile(), {.all_candidates = true});
  const auto second = plan_job(gpu_job("llama3-8b", 16), {}, default_profile(), {.all_candidates = true});
  EXPECT_EQ(first->SerializeAsString(), second->SerializeAsString());
}

v1alpha1::MemoryCorrection correction(const std::string& term, int percent) {
  v1alpha1::MemoryCorrection correction;
  correction.set_term(term);
  correction.set_percent(percent);
  correction.set_attempt(3);
  return correction;
}

TEST(PlanAgain, TakesALayoutThatFitsWithWhatHasGrown) {
  const v1alpha1::JobSpec job = gpu_job("llama3-8b", 8);
  const v1alpha1::Plan first = plan_job(job, {}, default_profile())->plan();
  const auto again =
      plan_again({.plan = first, .correction = correction("activations", 150)}, job, {}, default_profile());
  ASSERT_TRUE(again) << again.error().message;
  const v1alpha1::Plan& next = again->plan();
  EXPECT_NE(layout_value(next), layout_value(first));
  EXPECT_EQ(next.tensor() * next.pipeline() * next.data(), 8);
  EXPECT_EQ(next.devices_per_node(), first.devices_per_node());
  EXPECT_LE(next.peak_bytes(), next.usable_bytes());
  EXPECT_THAT(next.reason(), StartsWith("Planned again with activations at 150 % of what was predicted, as "
                                        "the ranks of attempt 3 took them. "));

  PlanRequest request = request_of(job);
  const int64_t predicted = predict_memory(request, layout_value(next), default_profile()).terms.activations;
  EXPECT_EQ(next.memory().activations(), static_cast<int64_t>(static_cast<double>(predicted) * 1.5));
}

TEST(PlanAgain, NeedsClearlyLessThanTheLayoutThatRanOutWhateverTheDeviceIsSaidToHave) {
  for (const char* term : {"parameters", "gradients", "optimizer", "activations", "logits", "workspace",
                           "communication", "overhead", "snapshot"}) {
    const v1alpha1::JobSpec job = cpu_job("llama-mini", 4);
    const v1alpha1::Plan first = plan_job(job, {}, default_profile())->plan();
    ASSERT_EQ(first.usable_bytes(), 0) << "nobody knows";
    const auto again =
        plan_again({.plan = first, .correction = correction(term, 103)}, job, {}, default_profile());
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_NE(layout_value(again->plan()), layout_value(first)) << term;
    EXPECT_LT(again->plan().peak_bytes(), 0.95 * static_cast<double>(first.peak_bytes())) << term;
  }
}

TEST(PlanAgain, LeavesTheOverheadOfADeviceTheRoomThatItTook) {
  const v1alpha1::JobSpec job = gpu_job("llama3-8b", 8);
  const v1alpha1::Plan first = plan_job(job, {}, default_profile())->plan();
  const auto again =
      plan_again({.plan = first, .correction = correction("overhead", 400)}, job, {}, default_profile());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_NE(layout_value(again->plan()), layout_value(first));
  EXPECT_LE(again->plan().peak_bytes(), first.usable_bytes());
}

TEST(PlanAgain, KeepsWhatTheUserHasFixed) {
  v1alpha1::JobSpec job = gpu_job("llama3-8b", 8);
  job.mutable_parallelism()->set_tensor(1);
  job.mutable_parallelism()->set_micro_batch_size(1);
  const v1alpha1::Plan first = plan_job(job, {}, default_profile())->plan();
  const auto again =
      plan_again({.plan = first, .correction = correction("activations", 130)}, job, {}, default_profile());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->plan().tensor(), 1);
  EXPECT_EQ(again->plan().micro_batch_size(), 1);
}

TEST(PlanAgain, SaysWithWhichCorrectionNoOtherLayoutFits) {
  v1alpha1::JobSpec job = gpu_job("llama3-8b", 8);
  job.mutable_parallelism()->set_mode(v1alpha1::Parallelism::Manual);
  job.mutable_parallelism()->set_tensor(1);
  job.mutable_parallelism()->set_pipeline(8);
  job.mutable_parallelism()->set_data(1);
  job.mutable_parallelism()->set_schedule("1F1B");
  for (int stage = 0; stage < 8; ++stage) job.mutable_parallelism()->add_layers_per_stage(4);
  job.mutable_parallelism()->set_activation_checkpointing(v1alpha1::ActivationCheckpointing::Never);
  const v1alpha1::Plan first = plan_job(job, {}, default_profile())->plan();
  const auto again =
      plan_again({.plan = first, .correction = correction("activations", 200)}, job, {}, default_profile());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ExitCode::kDoesNotFit);
  EXPECT_THAT(again.error().message, StartsWith("with activations at 200 % of what was predicted, as the "
                                                "ranks of attempt 3 took them, spec.resources: the job does "
                                                "not fit on 8 H100-80GB"));
}

TEST(PlanAgain, BelievesNoPlanOfAnotherJob) {
  const v1alpha1::Plan other = plan_job(gpu_job("llama3-8b", 16), {}, default_profile())->plan();
  const auto again = plan_again({.plan = other, .correction = correction("activations", 150)},
                                gpu_job("llama3-8b", 8), {}, default_profile());
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, StartsWith("the plan before: spec.parallelism: "));
}

TEST(PlanJob, WarnsOfSequencesThatTheModelWasNotMadeFor) {
  v1alpha1::JobSpec spec = gpu_job("llama3-8b", 64);
  EXPECT_TRUE(answer_job(spec, {}, default_profile()).warnings.empty());
  spec.mutable_training()->set_sequence_length(16384);
  EXPECT_THAT(
      answer_job(spec, {}, default_profile()).warnings,
      testing::ElementsAre("spec.training.sequenceLength: 16384 is longer than the 8192 positions that "
                           "llama3-8b was made for"));
  spec.mutable_model()->set_preset("llama3.1-8b");
  EXPECT_TRUE(answer_job(spec, {}, default_profile()).warnings.empty());
}

struct BadJob {
  std::string what;
  v1alpha1::JobSpec spec;
  std::string says;
};

v1alpha1::JobSpec manual(int devices, int tensor, int pipeline, int data) {
  v1alpha1::JobSpec spec = cpu_job("llama-mini", devices);
  spec.mutable_parallelism()->set_tensor(tensor);
  spec.mutable_parallelism()->set_pipeline(pipeline);
  spec.mutable_parallelism()->set_data(data);
  return spec;
}

std::vector<BadJob> bad_jobs() {
  v1alpha1::JobSpec batch = manual(5, 1, 1, 5);
  v1alpha1::JobSpec node = manual(8, 4, 2, 1);
  node.mutable_model()->set_preset("llama2-7b");
  node.mutable_resources()->set_devices_per_node(2);
  v1alpha1::JobSpec straddles = manual(12, 4, 3, 1);
  straddles.mutable_model()->set_preset("llama2-7b");
  straddles.mutable_resources()->set_devices_per_node(6);
  v1alpha1::JobSpec sum = manual(2, 1, 2, 1);
  sum.mutable_parallelism()->add_layers_per_stage(3);
  sum.mutable_parallelism()->add_layers_per_stage(4);
  v1alpha1::JobSpec sequence = manual(2, 2, 1, 1);
  sequence.mutable_training()->set_sequence_length(63);
  sequence.mutable_parallelism()->set_sequence_parallel(true);
  v1alpha1::JobSpec lonely = manual(1, 1, 1, 1);
  lonely.mutable_parallelism()->set_sequence_parallel(true);
  v1alpha1::JobSpec prime = cpu_job("llama-mini", 11);
  v1alpha1::JobSpec half_manual = cpu_job("llama-mini", 2);
  half_manual.mutable_parallelism()->set_mode(v1alpha1::Parallelism::Manual);
  v1alpha1::JobSpec tensor_only = cpu_job("llama-mini", 8);
  tensor_only.mutable_parallelism()->set_tensor(3);
  v1alpha1::JobSpec no_node = cpu_job("llama-mini", 8);
  no_node.mutable_resources()->set_devices_per_node(0);
  v1alpha1::JobSpec empty_stage = manual(2, 1, 2, 1);
  empty_stage.mutable_parallelism()->add_layers_per_stage(8);
  empty_stage.mutable_parallelism()->add_layers_per_stage(0);
  v1alpha1::JobSpec no_memory = gpu_job("llama3-8b", 8);
  no_memory.mutable_resources()->mutable_device()->set_memory("0");
  v1alpha1::JobSpec chunks = manual(2, 1, 2, 1);
  chunks.mutable_parallelism()->set_virtual_stages(9);
  v1alpha1::JobSpec interleaved = manual(2, 1, 2, 1);
  interleaved.mutable_parallelism()->set_schedule("Interleaved");
  for (const int layers : {3, 5}) interleaved.mutable_parallelism()->add_layers_per_stage(layers);
  v1alpha1::JobSpec usual_chunks = manual(2, 1, 2, 1);
  usual_chunks.mutable_parallelism()->set_schedule("1F1B");
  usual_chunks.mutable_parallelism()->set_virtual_stages(2);
  v1alpha1::JobSpec three_chunks = manual(2, 1, 2, 1);
  three_chunks.mutable_parallelism()->set_schedule("VHalf");
  three_chunks.mutable_parallelism()->set_virtual_stages(3);
  v1alpha1::JobSpec long_v = manual(2, 1, 2, 1);
  long_v.mutable_parallelism()->set_schedule("VHalf");
  long_v.mutable_parallelism()->set_micro_batch_size(1);
  long_v.mutable_training()->set_global_batch_sequences(100000);
  v1alpha1::JobSpec lone_layer = manual(2, 1, 2, 1);
  lone_layer.mutable_parallelism()->set_schedule("VHalf");
  for (const int layers : {7, 1}) lone_layer.mutable_parallelism()->add_layers_per_stage(layers);
  v1alpha1::JobSpec segments = manual(2, 1, 2, 1);
  segments.mutable_parallelism()->set_schedule("1F1B");
  segments.mutable_parallelism()->set_segments(4);
  v1alpha1::JobSpec one_segment = manual(2, 1, 2, 1);
  one_segment.mutable_parallelism()->set_schedule("Seq1F1B");
  one_segment.mutable_parallelism()->set_segments(1);
  v1alpha1::JobSpec two_sequences = manual(2, 1, 2, 1);
  two_sequences.mutable_parallelism()->set_schedule("SeqZBH1");
  two_sequences.mutable_parallelism()->set_micro_batch_size(2);
  v1alpha1::JobSpec short_sequence = manual(2, 1, 2, 1);
  short_sequence.mutable_parallelism()->set_schedule("Seq1F1B");
  short_sequence.mutable_parallelism()->set_micro_batch_size(1);
  short_sequence.mutable_parallelism()->set_segments(64);
  short_sequence.mutable_training()->set_sequence_length(32);
  v1alpha1::JobSpec sharded = manual(2, 1, 1, 2);
  sharded.mutable_parallelism()->set_zero_stage(3);
  return {
      {"no devices", cpu_job("llama-mini", 0), "spec.resources.devices: must be at least 1; it is 0"},
      {"nodes without devices", no_node, "spec.resources.devicesPerNode: must be at least 1; it is 0"},
      {"no tensor size", manual(2, 0, 1, 2), "spec.parallelism.tensor: must be at least 1; it is 0"},
      {"a stage without layers", empty_stage, "spec.parallelism.layersPerStage: must be at least 1; it is 0"},
      {"devices without memory", no_memory, "spec.resources.device.memory: must be more than 0"},
      {"virtual stages", chunks,
       "spec.parallelism.virtualStages: engine caravan runs at most 8; virtualStages is 9"},
      {"layers that do not divide into chunks", interleaved,
       "spec.parallelism.virtualStages: the layers of each stage must be divisible by virtualStages"},
      {"chunks of a schedule that has none", usual_chunks,
       "spec.parallelism.virtualStages: schedule Interleaved, and no other but the V-schedules, needs "
       "virtualStages > 1; schedule is 1F1B, virtualStages is 2"},
      {"a V of three chunks", three_chunks,
       "spec.parallelism.virtualStages: a V-schedule has two chunks of layers on each stage, so "
       "virtualStages must "
       "be 2; schedule is VHalf, virtualStages is 3"},
      {"a V of very many micro-batches", long_v,
       "spec.parallelism.schedule: VHalf is arranged for at most 65536 micro-batches in a step on 2 stages, "
       "and this "
       "job has 100000; other schedules have no such bound"},
      {"a V with one layer on a stage", lone_layer,
       "spec.parallelism.virtualStages: the layers of each stage must be at least virtualStages"},
      {"segments of a schedule that cuts no sequences", segments,
       "spec.parallelism.segments: schedules Seq1F1B and SeqZBH1, and no others, cut sequences into 2 "
       "segments or more; schedule is 1F1B, segments is 4"},
      {"one segment", one_segment, "schedule is Seq1F1B, segments is 1"},
      {"a micro-batch of several sequences that are cut", two_sequences,
       "spec.parallelism.microBatchSize: SeqZBH1 cuts sequences, so a micro-batch has one; "
       "microBatchSize is 2"},
      {"more segments than tokens", short_sequence,
       "spec.parallelism.segments: a sequence of 32 tokens is too short to be cut into 64 segments"},
      {"sharded parameters", sharded,
       "spec.parallelism.zeroStage: engine caravan shards up to ZeRO stage 1; zeroStage is 3"},
      {"wrong product", manual(8, 2, 2, 1),
       "spec.parallelism: tensor x pipeline x data must equal spec.resources.devices; 2 x 2 x 1 is not 8"},
      {"heads", manual(3, 3, 1, 1),
       "spec.parallelism.tensor: heads must be divisible by tensor; heads is 4, tensor is 3"},
      {"key heads", manual(4, 4, 1, 1),
       "spec.parallelism.tensor: kvHeads must be divisible by tensor; kvHeads is 2, tensor is 4"},
      {"node", node, "spec.parallelism.tensor: tensor must be at most spec.resources.devicesPerNode"},
      {"node border", straddles,
       "spec.parallelism.tensor: spec.resources.devicesPerNode must be divisible by tensor"},
      {"layers", manual(9, 1, 9, 1),
       "spec.parallelism.pipeline: there must be a layer for every pipeline stage"},
      {"layer sum", sum,
       "spec.parallelism.layersPerStage: layersPerStage must add up to the model's layers; its sum is 7"},
      {"batch", batch,
       "spec.training.globalBatchSequences: globalBatchSequences must be divisible by data x microBatchSize"},
      {"sequence", sequence, "spec.training.sequenceLength: sequenceLength must be divisible by tensor"},
      {"sequence parallel alone", lonely,
       "spec.parallelism.sequenceParallel: sequenceParallel needs tensor > 1"},
      {"a prime number of devices", prime, "no other layout of 11 devices is legal either"},
      {"half of a manual layout", half_manual,
       "spec.parallelism.mode: mode Manual needs tensor, pipeline and data"},
      {"tensor that does not divide", tensor_only, "spec.parallelism: tensor x pipeline x data must equal"},
      {"unknown GPU", gpu_job("llama3-8b", 8, "Z900"),
       "spec.resources.device: the memory of \"Z900\" is not known"},
  };
}

TEST(PlanJob, NamesTheFieldThatMakesAJobImpossible) {
  for (const BadJob& bad : bad_jobs()) {
    const auto report = plan_job(bad.spec, {}, default_profile());
    ASSERT_FALSE(report) << bad.what;
    EXPECT_EQ(report.error().code, ExitCode::kBadInput) << bad.what;
    EXPECT_THAT(report.error().message, HasSubstr(bad.says)) << bad.what;
    EXPECT_THAT(report.error().message, StartsWith("spec.")) << bad.what;
  }
}

}  // namespace
}  // namespace caravan::planner
