#include "planner/explain/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <utility>

#include "common/utf8.h"
#include "planner/engine_profile.h"
#include "planner/explain/checkpoints.h"
#include "planner/explain/figures.h"
#include "planner/explain/memory_bars.h"
#include "planner/explain/table.h"
#include "planner/memory/terms_message.h"

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

// With all candidates. Searched for once: a large job takes its time.
const PlanAnswer& answer_of(const std::string& preset, int devices) {
  static std::map<std::pair<std::string, int>, PlanAnswer> answers;
  const auto [entry, is_new] = answers.try_emplace({preset, devices});
  if (is_new)
    entry->second = answer_job(job(preset, devices), {}, default_engine_profile(), {.all_candidates = true});
  return entry->second;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Checkpoints, SayHowOftenAndWhatTheyTakeOfANode) {
  v1alpha1::JobSpec spec = job("llama3-8b", 8);
  const auto plan = [&] { return answer_job(spec, {}, default_engine_profile()).report.plan(); };
  EXPECT_EQ(plan().host_snapshot_bytes(), 0);
  EXPECT_EQ(checkpoints_text(spec, plan()),
            "Without spec.checkpoint the weights are not kept, and a restart begins at the first step.\n");
  spec.mutable_checkpoint()->set_path("states");
  // 14 bytes for each parameter, on one node of eight; the fullest rank counts for all.
  const double share =
      static_cast<double>(plan().host_snapshot_bytes()) / (14.0 * static_cast<double>(plan().parameters()));
  EXPECT_GE(share, 1);
  EXPECT_LT(share, 1.1);
  EXPECT_EQ(plan().memory().snapshot(), 0);
  EXPECT_EQ(checkpoints_text(spec, plan(), 1000),
            "Checkpoints: about every 1h00m at first, later as their cost and the job's failures ask for. "
            "While one is written, 110.4 GiB of a node's memory hold a copy.\n");
  spec.mutable_checkpoint()->set_every_steps(1000);
  EXPECT_THAT(checkpoints_text(spec, plan()), HasSubstr("every 1,000 steps, about every "));
  EXPECT_EQ(checkpoints_trouble(spec, plan()), "");
  spec.mutable_worker()->mutable_resources()->set_memory("64Gi");
  EXPECT_THAT(checkpoints_trouble(spec, plan()),
              HasSubstr("spec.worker.resources.memory is 64Gi, and 110.4 GiB"));
  spec.mutable_worker()->mutable_resources()->set_memory("128Gi");
  EXPECT_THAT(checkpoints_trouble(spec, plan()), HasSubstr("beside about 32.1 GiB that its 8 ranks take"));
  spec.mutable_worker()->mutable_resources()->set_memory("144Gi");
  EXPECT_EQ(checkpoints_trouble(spec, plan()), "");
  spec.mutable_checkpoint()->clear_every_steps();
  spec.mutable_checkpoint()->set_every_seconds(90);
  EXPECT_THAT(checkpoints_text(spec, plan()), HasSubstr("every 1m30s."));
}

TEST(Checkpoints, OnACpuTheCopyIsATermOfTheRanksMemory) {
  v1alpha1::JobSpec spec = job("llama-mini", 2);
  spec.mutable_resources()->mutable_device()->set_kind(v1alpha1::Device::CPU);
  spec.mutable_resources()->mutable_device()->clear_product();
  spec.mutable_checkpoint()->set_path("states");
  const auto plan = answer_job(spec, {}, default_engine_profile()).report.plan();
  EXPECT_GT(plan.memory().snapshot(), 0);
  EXPECT_EQ(plan.host_snapshot_bytes(), 0);
}

TEST(Figures, AreShort) {
  EXPECT_EQ(readable_count(8.03e9), "8.03B");
  EXPECT_EQ(readable_seconds(0.0851), "85.1 ms");
  EXPECT_EQ(readable_seconds(12.34), "12.3 s");
  EXPECT_EQ(readable_seconds(4e-17), "0 s");
}

TEST(Table, AlignsColumnsByCharactersNotBytes) {
  EXPECT_EQ(format_table({{"a"}, {"n", Align::Right}}, {{"██", "1"}, {"x", "22"}}),
            "  a    n\n  ██   1\n  x   22\n");
}

TEST(Table, LeavesOutColumnsWithoutText) {
  EXPECT_EQ(format_table({{"a"}, {"b"}, {"c"}}, {{"1", "", "3"}, {"4"}}), "  a  c\n  1  3\n  4\n");
}

TEST(Table, WrapsTheLastColumnBetweenWordsAndKeepsUnitsWithTheirNumbers) {
  EXPECT_EQ(format_table({{}, {}}, {{"TP1", "stage 0 needs 531.7 GiB: gradients"}, {"TP2", "short"}}, 26),
            "  TP1  stage 0 needs\n       531.7 GiB: gradients\n  TP2  short\n");
}

TEST(Figures, CountDaysChangesAndErrors) {
  EXPECT_EQ(readable_change(1.05, 1), "+5 %");
  EXPECT_EQ(readable_change(69, 100), "-31 %");
}

MemoryTerms terms(int64_t parameters, int64_t gradients, int64_t activations) {
  return {.parameters = parameters, .gradients = gradients, .activations = activations};
}

TEST(MemoryBars, StackTheTermsAndMarkTheLimit) {
  EXPECT_EQ(stacked_bar(terms(10, 20, 30), 80, 80, 8), "PGGAAA  |");
  EXPECT_EQ(stacked_bar(terms(10, 20, 70), 80, 100, 10), "PGGAAAAA|AA");
}

TEST(MemoryBars, ALittleOverTheLimitStandsBehindTheMarkAndALittleUnderBeforeIt) {
  EXPECT_EQ(stacked_bar(terms(40, 0, 41), 80, 81, 8), "PPPPAAAA|A");
  EXPECT_EQ(stacked_bar(terms(40, 0, 39), 80, 80, 8), "PPPPAAAA|");
}

TEST(MemoryBars, PutLikeStagesOnOneLineAndLeaveOutTheMiddleOfLongPipelines) {
  const StageMemory same{.layers = 2, .terms = terms(10, 20, 30)};
  EXPECT_EQ(memory_bars({.stages = {same, same, same}, .usable_bytes = 80}, 53, false),
            "  stage  layers  peak  (| is the limit, 80 B)\n"
            "    0-2       2  60 B  PPPGGGGGAAAAAAA     |\n");
  MemoryChart chart{.stages = {}, .binding_stage = 9, .usable_bytes = 1000};
  for (int stage = 0; stage < 20; ++stage) chart.stages.push_back({2, terms(100 + stage, 200, 300)});
  const std::string shown = memory_bars(chart, 80, false);
  EXPECT_THAT(shown, HasSubstr("\n    ...\n      9 "));
  EXPECT_THAT(shown, HasSubstr("\n     19 "));
  EXPECT_THAT(shown, Not(HasSubstr("\n     10 ")));
  EXPECT_THAT(memory_bars(chart, 80, true), HasSubstr("\n     10 "));
}

TEST(MemoryBars, ALimitThatIsFarOffLeavesTheBarsTheirLength) {
  const MemoryChart chart{.stages = {{2, terms(10, 20, 30)}}, .binding_stage = 0, .usable_bytes = 1 << 20};
  EXPECT_THAT(memory_bars(chart, 53, false), HasSubstr("(the limit, 1.0 MiB, is far off)"));
  EXPECT_THAT(memory_bars(chart, 53, false), HasSubstr("PPPGGGGGGGAAAAAAAAAA"));
}

constexpr int64_t kGiB = int64_t{1} << 30;

v1alpha1::Candidate candidate(int tensor, int pipeline, v1alpha1::Verdict::Value verdict,
                              const std::string& reason) {
  v1alpha1::Candidate message;
  message.set_tensor(tensor);
  message.set_pipeline(pipeline);
  message.set_data(8 / (tensor * pipeline));
  message.set_micro_batch_size(1);
  message.set_sequence_parallel(tensor > 1);
  message.set_schedule("1F1B");
  message.set_zero_stage(1);
  message.set_virtual_stages(1);
  message.set_verdict(verdict);
  message.set_reason(reason);
  return message;
}

// Nothing here comes from a model, so that the text alone is tested.
v1alpha1::PlanReport made_up_report() {
  v1alpha1::PlanReport report;
  v1alpha1::Plan& plan = *report.mutable_plan();
  plan.set_tensor(1);
  plan.set_pipeline(2);
  plan.set_data(4);
  plan.set_micro_batch_size(1);
  plan.set_gradient_accumulation(128);
  plan.set_schedule("1F1B");
  plan.set_devices(8);
  plan.set_device_product("H100-80GB");
  plan.set_reason("The model is split. It fits.");
  plan.set_usable_bytes(74 * kGiB);
  plan.set_peak_bytes(60 * kGiB);
  plan.add_layers_per_stage(16);
  plan.add_layers_per_stage(15);
  *plan.add_memory_per_stage() = terms_message(terms(8 * kGiB, 16 * kGiB, 36 * kGiB));
  *plan.add_memory_per_stage() = terms_message(terms(8 * kGiB, 16 * kGiB, 18 * kGiB));
  plan.set_step_seconds(50.8);
  plan.set_tokens_per_second(82600);
  plan.set_mfu(0.605);
  plan.set_mfu_causal(0.538);
  plan.set_hfu(0.605);
  plan.set_bubble_fraction(0.007);
  plan.set_training_days(50.8 * 20000 / 86400);
  plan.set_gpu_hours(50.8 * 20000 / 3600 * 8);
  plan.set_step_time_error(0.12);
  plan.set_memory_error(0.08);
  plan.set_fit_chance(0.998);
  *report.add_candidates() = candidate(1, 2, v1alpha1::Verdict::Chosen, "The model is split. It fits.");
  v1alpha1::Candidate& slower = *report.add_candidates();
  slower = candidate(2, 2, v1alpha1::Verdict::Slower, "a step takes 1.10 times as long");
  slower.set_step_seconds(55.9);
  slower.set_peak_bytes(40 * kGiB);
  slower.set_mfu(0.55);
  v1alpha1::Candidate& faster = *report.add_candidates();
  faster = candidate(2, 4, v1alpha1::Verdict::Slower, "splits the model over 8 devices where 2 would do");
  faster.set_step_seconds(50);
  faster.set_peak_bytes(30 * kGiB);
  faster.set_mfu(0.61);
  *report.add_candidates() = candidate(1, 1, v1alpha1::Verdict::DoesNotFit,
                                       "stage 0 needs 82.5 GiB of 74.0 GiB usable: gradients 29.9 GiB");
  return report;
}

TEST(ExplainPlan, ReadsWellInEightyColumns) {
  EXPECT_EQ(explain_plan({.report = made_up_report(), .error = {}}, {.width = 80}),
            R"(Plan: TP1 PP2 DP4, micro-batch size 1, 128 micro-batches per step, 1F1B on 8
H100-80GB devices
The model is split. It fits.

Memory per device at its peak, on stage 0: 60.0 GiB ± 8 %. It fits into the
74.0 GiB that are usable with a chance of 99.8 %, 14.0 GiB to spare.
  P parameters      8.0 GiB  G gradients      16.0 GiB
  A activations    36.0 GiB
  stage  layers      peak  (| is the limit, 74.0 GiB)
      0      16  60.0 GiB  PPPPPGGGGGGGGGGAAAAAAAAAAAAAAAAAAAAAAA         |
      1      15  42.0 GiB  PPPPPGGGGGGGGGGAAAAAAAAAAAA                    |

Predicted speed
  step       50.8 s ± 12 %
  tokens/s   82.6k ± 12 %
  MFU        60.5 % (causal 53.8 %, HFU 60.5 %), pipeline idle 0.7 % of a step
  whole run  11d18h ± 12 % for 20,000 steps, 2,258 GPU-hours ± 12 %

Alternatives that fit, and their price
  layout         step           memory            MFU  why not
  TP2 PP4 DP1  50.0 s   -2 %  30.0 GiB  -50 %  61.0 %  splits the model over 8
                                                       devices where 2 would do
  TP2 PP2 DP2  55.9 s  +10 %  40.0 GiB  -33 %  55.0 %

Rejected, those that lack least first
  TP1 PP1 DP8  stage 0 needs 82.5 GiB of 74.0 GiB usable: gradients 29.9 GiB
)");
}

TEST(ExplainPlan, SaysWhatWhyAndWhatItCosts) {
  const std::string text = explain_plan(answer_of("llama3-70b", 64));
  EXPECT_THAT(text, testing::ContainsRegex("Memory per device at its peak, on stage [0-9]+: "));
  EXPECT_THAT(text, HasSubstr("P parameters"));
  EXPECT_THAT(text, HasSubstr("(| is the limit, "));
  EXPECT_THAT(text, HasSubstr("Alternatives that fit, and their price"));
  EXPECT_THAT(text, testing::ContainsRegex("usable: (gradients|optimizer|activations) "));
  EXPECT_THAT(text, HasSubstr("(--all shows them)"));
}

TEST(ExplainPlan, SaysWhatRunsAgain) {
  v1alpha1::PlanReport report = made_up_report();
  const auto recompute = [](auto& message) {
    message.set_activation_checkpointing(v1alpha1::ActivationCheckpointing::Always);
    for (const int layers : {12, 3}) message.add_recomputed_layers(layers);
  };
  recompute(*report.mutable_plan());
  EXPECT_THAT(explain_plan({.report = report, .error = {}}, {.width = 200}),
              HasSubstr("activation checkpointing of 15 of 31 layers"));
  report.mutable_plan()->set_recomputed_part("MLP");
  recompute(*report.mutable_candidates(1));
  report.mutable_candidates(1)->set_recomputed_part("MLP");
  EXPECT_THAT(explain_plan({.report = report, .error = {}}, {.all = true, .width = 200}),
              testing::AllOf(HasSubstr("activation checkpointing of the MLPs of 15 of 31"),
                             HasSubstr("ckpt 15 MLP")));
}

TEST(ExplainPlan, TellsTimeAndDevicesOfTheWholeRunAndHowWellTheyAreKnown) {
  v1alpha1::JobSpec spec = job("llama3-70b", 64);
  spec.mutable_training()->set_steps(1000);
  spec.mutable_parallelism()->set_tensor(8);
  spec.mutable_parallelism()->set_pipeline(4);
  EngineProfile profile = default_engine_profile();
  profile.step_time_error = 0.12;
  profile.memory_error = 0.08;
  profile.measured_product = "H100-80GB";
  profile.measured_devices = 64;
  const std::string text = explain_plan(answer_job(spec, {}, profile));
  EXPECT_THAT(text, testing::ContainsRegex(
                        "whole run  [0-9]+h[0-9]+m ± 12 % for 1,000 steps, [0-9,]+ GPU-hours ± 12 %"));
  EXPECT_THAT(text, testing::ContainsRegex("on stage [0-9]+: [0-9.]+ GiB ± 8 %. It fits into the "));
  EXPECT_THAT(text, Not(HasSubstr("not validated")));
  profile.memory_error.reset();
  EXPECT_THAT(explain_plan(answer_job(spec, {}, profile)), HasSubstr("GiB ± 3 %, not validated. It fits"));
  profile.step_time_error.reset();
  EXPECT_THAT(explain_plan(answer_job(spec, {}, profile)), HasSubstr("Predicted speed, not validated\n"));
}

TEST(ExplainPlan, FitsIntoTheLinesOfATerminal) {
  for (const int devices : {8, 64}) {
    const PlanAnswer& answer = answer_of("llama3-70b", devices);
    for (const int width : {80, 120}) {
      const std::string text = explain_plan(answer, {.all = true, .width = width});
      for (const std::string& line : lines_of(text)) EXPECT_LE(utf8_characters(line), width) << line;
    }
  }
}

TEST(ExplainPlan, AllLeavesNothingOut) {
  EXPECT_THAT(explain_plan(answer_of("llama3-8b", 8), {.all = true}), Not(HasSubstr("more (--all")));
}

TEST(ExplainPlan, ShowsWhatBrokeEveryLayoutWhenNothingFits) {
  const std::string text = explain_plan(answer_of("llama3-70b", 8));
  EXPECT_THAT(text, Not(HasSubstr("Plan:")));
  EXPECT_THAT(text, testing::StartsWith("No layout fits. TP"));
  EXPECT_THAT(text, testing::ContainsRegex("[A-Z][|][A-Z]"));
  EXPECT_THAT(text, HasSubstr("Rejected"));
  EXPECT_THAT(text, HasSubstr("usable: "));
}

}  // namespace
}  // namespace caravan::planner
