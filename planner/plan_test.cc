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

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
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
  EXPECT_THAT(answer.error->message,
              HasSubstr("The smallest number of devices in whole nodes of 8 that fits is 24."));
  EXPECT_FALSE(answer.report.has_plan());
  EXPECT_GT(answer.report.candidates_size(), 10);
}

// More ranks of one machine have less of its memory each.
TEST(PlanJob, NamesTheNumberOfRanksThatFitsIntoTheMachineThatTheyShare) {
  const auto mistake_of = [](const char* preset, int ranks, int64_t bytes) {
    const DeviceFacts facts{.machine = SharedMachine{.memory_bytes = bytes, .cores = 2}};
    v1alpha1::JobSpec spec = cpu_job(preset, ranks);
    spec.mutable_training()->set_global_batch_sequences(ranks);
    const auto report = plan_job(spec, facts, default_profile());
    return report ? "" : report.error().message;
  };
  EXPECT_EQ(mistake_of("llama-mini", 2, int64_t{16} << 30), "");
  EXPECT_THAT(mistake_of("llama-mini", 256, int64_t{16} << 30),
              HasSubstr("The smallest number of devices that fits is 1."));
  EXPECT_THAT(mistake_of("llama3-8b", 2, int64_t{24} << 30),
              HasSubstr("No other number of ranks fits, since all share the memory of this machine."));
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

TEST(PlanJob, OfFp32OnGpusItClaimsNoTensorCoresAndNoMeasuredError) {
  const auto plan_in = [](v1alpha1::Precision::Value precision) {
    v1alpha1::JobSpec spec = gpu_job("llama3.2-1b", 1, "H200");
    spec.mutable_training()->set_sequence_length(2048);
    spec.mutable_training()->set_global_batch_sequences(8);
    spec.mutable_training()->set_precision(precision);
    return plan_job(spec, {}, default_profile())->plan();
  };
  const v1alpha1::Plan bf16 = plan_in(v1alpha1::Precision::BF16);
  const v1alpha1::Plan fp32 = plan_in(v1alpha1::Precision::FP32);
  EXPECT_TRUE(bf16.has_step_time_error());
  EXPECT_FALSE(fp32.has_step_time_error());
  EXPECT_FALSE(fp32.has_memory_error());
  EXPECT_GT(fp32.step_seconds(), 3 * bf16.step_seconds());
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
  EXPECT_EQ(next.usable_bytes(), first.usable_bytes()) << "the device is the same";
  EXPECT_EQ(again->usable_bytes(), first.usable_bytes());
  EXPECT_THAT(next.reason(), StartsWith("Planned again with activations at 150 % of what was predicted, as "
                                        "the ranks of attempt 3 took them. "));

  EXPECT_EQ(next.memory_correction().percent(), 150) << "for ranks, which predict it again";
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
    EXPECT_EQ(again->plan().usable_bytes(), 0) << "still nobody does";
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
  EXPECT_THAT(
      again.error().message,
      testing::ContainsRegex("^with activations at 200 % of what was predicted, as the ranks of attempt "
                             "3 took them, a layout must need at most [0-9.]+ GiB, 90 % of what the one "
                             "that ran out needed; spec.resources: the job does not fit on 8 "
                             "H100-80GB: .* stage 0 needs [0-9.]+ GiB of [0-9.]+ GiB allowed"));
  EXPECT_THAT(again.error().message, Not(AnyOf(HasSubstr("usable"), HasSubstr("of memory each"))));
  const auto beyond =
      plan_again({.plan = first, .correction = correction("activations", 300)}, job, {}, default_profile());
  ASSERT_FALSE(beyond);
  EXPECT_THAT(beyond.error().message, HasSubstr("took them, spec.resources: the job does not fit"))
      << "the device's own limit is lower";
  EXPECT_THAT(beyond.error().message, HasSubstr(" GiB usable: "));
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

TEST(PlanJob, WarnsOfTensorGroupsThatARacksSwitchJoinsWhereNothingKeepsThemInTheRack) {
  const auto warnings = [](const char* product, int tensor, v1alpha1::Topology::Mode mode) {
    v1alpha1::JobSpec spec = gpu_job("llama3-8b", 64, product);
    spec.mutable_parallelism()->set_tensor(tensor);
    spec.mutable_scheduling()->mutable_topology()->set_mode(mode);
    return answer_job(spec, {}, default_profile()).warnings;
  };
  EXPECT_THAT(warnings("GB200", 8, v1alpha1::Topology::None),
              testing::ElementsAre(StartsWith(
                  "spec.scheduling.topology: a tensor group of 8 stands on several nodes of 4, ")));
  EXPECT_THAT(warnings("GB200", 8, v1alpha1::Topology::Required), testing::IsEmpty());
  EXPECT_THAT(warnings("GB200", 4, v1alpha1::Topology::None), testing::IsEmpty()) << "each on one node";
  EXPECT_THAT(warnings("H100-80GB", 8, v1alpha1::Topology::None), testing::IsEmpty());
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

template <typename Change>
v1alpha1::JobSpec changed(v1alpha1::JobSpec spec, Change change) {
  change(spec);
  return spec;
}

// Two stages, with this of parallelism besides.
template <typename Change>
v1alpha1::JobSpec two_stages(Change change) {
  return changed(manual(2, 1, 2, 1), [&](v1alpha1::JobSpec& spec) { change(*spec.mutable_parallelism()); });
}

v1alpha1::JobSpec two_stages(const std::string& schedule, std::vector<int> layers_per_stage) {
  return two_stages([&](v1alpha1::Parallelism& given) {
    given.set_schedule(schedule);
    for (const int layers : layers_per_stage) given.add_layers_per_stage(layers);
  });
}

std::vector<BadJob> jobs_with_bad_devices() {
  const auto without_devices = [](auto& spec) { spec.mutable_resources()->set_devices_per_node(0); };
  const auto without_memory = [](auto& spec) { spec.mutable_resources()->mutable_device()->set_memory("0"); };
  const auto nodes_of = [](int devices_per_node) {
    return [=](auto& spec) {
      spec.mutable_model()->set_preset("llama2-7b");
      spec.mutable_resources()->set_devices_per_node(devices_per_node);
    };
  };
  return {
      {"no devices", cpu_job("llama-mini", 0), "spec.resources.devices: must be at least 1; it is 0"},
      {"nodes without devices", changed(cpu_job("llama-mini", 8), without_devices),
       "spec.resources.devicesPerNode: must be at least 1; it is 0"},
      {"devices without memory", changed(gpu_job("llama3-8b", 8), without_memory),
       "spec.resources.device.memory: must be more than 0"},
      {"node", changed(manual(8, 4, 2, 1), nodes_of(2)),
       "spec.parallelism.tensor: tensor must be at most spec.resources.devicesPerNode"},
      {"node border", changed(manual(12, 4, 3, 1), nodes_of(6)),
       "spec.parallelism.tensor: spec.resources.devicesPerNode must be divisible by tensor"},
      {"a prime number of devices", cpu_job("llama-mini", 11),
       "no other layout of 11 devices is legal either"},
      {"unknown GPU", gpu_job("llama3-8b", 8, "Z900"),
       "spec.resources.device: the memory of \"Z900\" is not known"},
  };
}

std::vector<BadJob> jobs_with_bad_sizes() {
  const auto sequence_parallel = [](auto& spec) { spec.mutable_parallelism()->set_sequence_parallel(true); };
  const auto odd_sequence = [](auto& spec) { spec.mutable_training()->set_sequence_length(63); };
  const auto half_manual = [](auto& spec) {
    spec.mutable_parallelism()->set_mode(v1alpha1::Parallelism::Manual);
  };
  return {
      {"no tensor size", manual(2, 0, 1, 2), "spec.parallelism.tensor: must be at least 1; it is 0"},
      {"wrong product", manual(8, 2, 2, 1),
       "spec.parallelism: tensor x pipeline x data must equal spec.resources.devices; 2 x 2 x 1 is not 8"},
      {"tensor that does not divide",
       changed(cpu_job("llama-mini", 8), [](auto& spec) { spec.mutable_parallelism()->set_tensor(3); }),
       "spec.parallelism: tensor x pipeline x data must equal"},
      {"half of a manual layout", changed(cpu_job("llama-mini", 2), half_manual),
       "spec.parallelism.mode: mode Manual needs tensor, pipeline and data"},
      {"heads", manual(3, 3, 1, 1),
       "spec.parallelism.tensor: heads must be divisible by tensor; heads is 4, tensor is 3"},
      {"key heads", manual(4, 4, 1, 1),
       "spec.parallelism.tensor: kvHeads must be divisible by tensor; kvHeads is 2, tensor is 4"},
      {"batch", manual(5, 1, 1, 5),
       "spec.training.globalBatchSequences: globalBatchSequences must be divisible by data x microBatchSize"},
      {"sequence", changed(changed(manual(2, 2, 1, 1), sequence_parallel), odd_sequence),
       "spec.training.sequenceLength: sequenceLength must be divisible by tensor"},
      {"sequence parallel alone", changed(manual(1, 1, 1, 1), sequence_parallel),
       "spec.parallelism.sequenceParallel: sequenceParallel needs tensor > 1"},
      {"sharded parameters",
       changed(manual(2, 1, 1, 2), [](auto& spec) { spec.mutable_parallelism()->set_zero_stage(3); }),
       "spec.parallelism.zeroStage: engine caravan shards up to ZeRO stage 1; zeroStage is 3"},
  };
}

std::vector<BadJob> jobs_with_bad_stages() {
  return {
      {"a stage without layers", two_stages("Auto", {8, 0}),
       "spec.parallelism.layersPerStage: must be at least 1; it is 0"},
      {"layers", manual(9, 1, 9, 1),
       "spec.parallelism.pipeline: there must be a layer for every pipeline stage"},
      {"layer sum", two_stages("Auto", {3, 4}),
       "spec.parallelism.layersPerStage: layersPerStage must add up to the model's layers; its sum is 7"},
      {"virtual stages", two_stages([](auto& given) { given.set_virtual_stages(9); }),
       "spec.parallelism.virtualStages: engine caravan runs at most 8; virtualStages is 9"},
      {"layers that do not divide into chunks", two_stages("Interleaved", {3, 5}),
       "spec.parallelism.virtualStages: the layers of each stage must be divisible by virtualStages"},
      {"chunks of a schedule that has none", two_stages([](auto& given) {
         given.set_schedule("1F1B");
         given.set_virtual_stages(2);
       }),
       "spec.parallelism.virtualStages: schedule Interleaved, and no other but the V-schedules, needs "
       "virtualStages > 1; schedule is 1F1B, virtualStages is 2"},
      {"a V of three chunks", two_stages([](auto& given) {
         given.set_schedule("VHalf");
         given.set_virtual_stages(3);
       }),
       "spec.parallelism.virtualStages: a V-schedule has two chunks of layers on each stage, so "
       "virtualStages must be 2; schedule is VHalf, virtualStages is 3"},
      {"a V with one layer on a stage", two_stages("VHalf", {7, 1}),
       "spec.parallelism.virtualStages: the layers of each stage must be at least virtualStages"},
  };
}

// Micro-batches and segments that a schedule cannot have.
std::vector<BadJob> jobs_with_bad_units() {
  const auto units = [](const char* schedule, int micro_batch_size, int segments) {
    return two_stages([=](auto& given) {
      given.set_schedule(schedule);
      if (micro_batch_size > 0) given.set_micro_batch_size(micro_batch_size);
      if (segments > 0) given.set_segments(segments);
    });
  };
  const auto many = [](auto& spec) { spec.mutable_training()->set_global_batch_sequences(100000); };
  const auto shorter = [](auto& spec) { spec.mutable_training()->set_sequence_length(32); };
  return {
      {"a V of very many micro-batches", changed(units("VHalf", 1, 0), many),
       "spec.parallelism.schedule: VHalf is arranged for at most 65536 micro-batches in a step on 2 stages, "
       "and this job has 100000; other schedules have no such bound"},
      {"segments of a schedule that cuts no sequences", units("1F1B", 0, 4),
       "spec.parallelism.segments: schedules Seq1F1B and SeqZBH1, and no others, cut sequences into 2 "
       "segments or more; schedule is 1F1B, segments is 4"},
      {"one segment", units("Seq1F1B", 0, 1), "schedule is Seq1F1B, segments is 1"},
      {"a micro-batch of several sequences that are cut", units("SeqZBH1", 2, 0),
       "spec.parallelism.microBatchSize: SeqZBH1 cuts sequences, so a micro-batch has one; "
       "microBatchSize is 2"},
      {"more segments than tokens", changed(units("Seq1F1B", 1, 64), shorter),
       "spec.parallelism.segments: a sequence of 32 tokens is too short to be cut into 64 segments"},
      {"a schedule that is none", units("DualPipe", 0, 0),
       "spec.parallelism.schedule: there is no schedule DualPipe; leave it out"},
  };
}

void expect_refusals(const std::vector<BadJob>& jobs) {
  for (const BadJob& bad : jobs) {
    const auto report = plan_job(bad.spec, {}, default_profile());
    ASSERT_FALSE(report) << bad.what;
    EXPECT_EQ(report.error().code, ExitCode::kBadInput) << bad.what;
    EXPECT_THAT(report.error().message, HasSubstr(bad.says)) << bad.what;
    EXPECT_THAT(report.error().message, StartsWith("spec.")) << bad.what;
  }
}

TEST(PlanJob, NamesTheFieldThatMakesAJobImpossible) {
  expect_refusals(jobs_with_bad_devices());
  expect_refusals(jobs_with_bad_sizes());
  expect_refusals(jobs_with_bad_stages());
  expect_refusals(jobs_with_bad_units());
}

std::string wrong_whatever_the_devices(const v1alpha1::JobSpec& spec) {
  const Status checked = check_job(spec, default_profile());
  if (checked) return "";
  EXPECT_EQ(checked.error().code, ExitCode::kBadInput);
  return checked.error().message;
}

TEST(CheckJob, NamesWhatNoDevicesWouldMend) {
  v1alpha1::JobSpec weights = gpu_job("llama3-8b", 16, "");
  weights.mutable_model()->clear_preset();
  weights.mutable_model()->mutable_init_from()->set_path("llama");
  EXPECT_THAT(wrong_whatever_the_devices(weights), StartsWith("spec.model: the shape stands in the folder"));
  v1alpha1::JobSpec heads = gpu_job("llama3-8b", 16, "");
  heads.mutable_parallelism()->set_tensor(16);
  EXPECT_THAT(wrong_whatever_the_devices(heads), HasSubstr("kvHeads must be divisible by tensor"));
  v1alpha1::JobSpec nodes = gpu_job("llama3-8b", 16, "");
  nodes.mutable_parallelism()->set_tensor(8);
  nodes.mutable_resources()->set_devices_per_node(4);
  EXPECT_THAT(wrong_whatever_the_devices(nodes), HasSubstr("tensor parallelism never leaves a node"));
}

TEST(CheckJob, LeavesToTheDevicesWhatTheyDecide) {
  EXPECT_EQ(wrong_whatever_the_devices(gpu_job("llama3-8b", 16, "")), "") << "whose memory nobody knows";
  EXPECT_EQ(wrong_whatever_the_devices(gpu_job("llama3.1-405b", 1)), "") << "on which it does not fit";
  v1alpha1::JobSpec large_nodes = gpu_job("llama3-8b", 24, "");
  large_nodes.mutable_training()->set_global_batch_sequences(96);
  large_nodes.mutable_parallelism()->set_tensor(8);
  EXPECT_EQ(wrong_whatever_the_devices(large_nodes), "") << "which stands on nodes of 8";
  EXPECT_EQ(wrong_whatever_the_devices(cpu_job("llama-mini", 4)), "");
  EXPECT_EQ(wrong_whatever_the_devices(gpu_job("llama3.1-405b", 131072)), "");
}

}  // namespace
}  // namespace caravan::planner
