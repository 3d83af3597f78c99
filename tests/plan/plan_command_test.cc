#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "caravan/v1alpha1/plan.pb.h"
#include "common/json.h"
#include "common/testing/checkout.h"
#include "common/testing/shell.h"
#include "common/testing/temporary_folder.h"

namespace caravan {
namespace {

using test::contents;
using test::Outcome;
using test::run_shell;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr const char* kJob = R"(apiVersion: training.caravan.dev/v1alpha1
kind: LlamaTrainingJob
metadata: {name: large}
spec:
  model: {preset: llama3-70b}
  data: {claimName: corpus, path: train}
  training: {steps: 20000, sequenceLength: 8192, globalBatchSequences: 512}
  resources: {devices: 64, device: {product: H100-80GB}}
)";

const std::string kProfile = test::source_folder() + "/planner/profiles/caravan.yaml";

class PlanCommand : public testing::Test {
 protected:
  // arguments: after `caravan plan job.yaml`, as a shell reads them.
  Outcome plan(const std::string& arguments, const std::string& job = kJob) const {
    return run_shell(fmt::format("'{}/caravan' plan '{}' {}", test::program_folder(),
                                 folder_.write("job.yaml", job), arguments));
  }

  const test::TemporaryFolder folder_;
};

TEST_F(PlanCommand, AnAnswerThatCannotBeWrittenIsAnError) {
  for (const char* too_small : {">/dev/full", "-o json --all >/dev/full", "-o json --all >&-"}) {
    const Outcome outcome = plan(too_small);
    EXPECT_EQ(outcome.exit_code, 1) << too_small;
    EXPECT_EQ(outcome.err, "standard output: not everything could be written; give it room and an open end\n")
        << too_small;
  }
}

TEST_F(PlanCommand, PrintsThePlanItsReasonItsMemoryAndTheAlternatives) {
  const Outcome outcome = plan("");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, StartsWith("Plan: TP"));
  EXPECT_THAT(outcome.out, HasSubstr("on 64 H100-80GB"));
  EXPECT_THAT(outcome.out, HasSubstr("(| is the limit, "));
  EXPECT_THAT(outcome.out, HasSubstr("Alternatives that fit"));
  EXPECT_THAT(outcome.out, HasSubstr("stage 0 needs "));
}

TEST_F(PlanCommand, JsonHoldsThePlanAndTheCandidatesTheChosenOneFirst) {
  const Outcome outcome = plan("--all -o json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto report = from_json<v1alpha1::PlanReport>(outcome.out);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->plan().tensor() * report->plan().pipeline() * report->plan().data(), 64);
  EXPECT_EQ(report->candidates(0).verdict(), v1alpha1::Verdict::Chosen);
  EXPECT_EQ(report->candidates(0).peak_bytes(), report->plan().peak_bytes());
  EXPECT_THAT(outcome.out, HasSubstr(fmt::format("\"peakBytes\": {},", report->plan().peak_bytes())));
  EXPECT_EQ(plan("--all -o json").out, outcome.out);
}

TEST_F(PlanCommand, OptionsOverruleTheDevicesOfTheJob) {
  const Outcome outcome = plan("--devices 16 --devices-per-node 4 --device H200 -o json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto report = from_json<v1alpha1::PlanReport>(outcome.out);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->plan().devices(), 16);
  EXPECT_EQ(report->plan().device_product(), "H200");
  EXPECT_LE(report->plan().tensor(), 4);
}

TEST_F(PlanCommand, ADeviceOfAnotherKindReplacesAllThatTheJobSaysOfItsOwn) {
  std::string cpus = kJob;
  const std::string gpu = "product: H100-80GB";
  cpus.replace(cpus.find(gpu), gpu.size(), "kind: CPU, memory: 1Gi");
  EXPECT_EQ(plan("--device H100-80GB", cpus).out, plan("").out);
  const Outcome cpu = plan(
      "--device cpu --devices 1 --set spec.model.preset=llama-tiny --set spec.training.sequenceLength=128");
  EXPECT_EQ(cpu.exit_code, 0) << cpu.err;
  EXPECT_THAT(cpu.out, StartsWith("Plan: TP1 PP1 DP1"));
  EXPECT_THAT(cpu.out, Not(HasSubstr("H100")));
}

TEST_F(PlanCommand, SaysWhatWouldFitWhenNothingDoes) {
  const Outcome outcome = plan("--devices 8");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("The smallest number of devices in whole nodes of 8 that fits is 24."));
  EXPECT_THAT(outcome.out, HasSubstr("Rejected"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("Plan:")));
}

TEST_F(PlanCommand, RefusesWhatNoDeviceCouldRun) {
  const Outcome outcome = plan("--set spec.parallelism.tensor=5");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("spec.parallelism"));
  EXPECT_EQ(plan("--set spec.parallelism.tensr=5").exit_code, 2);
  const Outcome unknown = plan("--device H20");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, StartsWith("--device: expected one of cpu, "));
  EXPECT_THAT(unknown.err, HasSubstr("did you mean H200?"));
  EXPECT_EQ(plan("-o yaml").exit_code, 2);
  EXPECT_THAT(plan("--devices 0").err, StartsWith("--devices: Value 0 not in range 1 to "));
  EXPECT_THAT(plan("--devices abc").err, StartsWith("--devices: Value abc not in range 1 to "));
  EXPECT_THAT(plan("--devices-per-node 0").err, StartsWith("--devices-per-node: "));
}

TEST_F(PlanCommand, ThisEnginesProfileAsAFileChangesNothing) {
  EXPECT_EQ(plan(fmt::format("--engine-profile '{}' -o json", kProfile)).out, plan("-o json").out);
}

TEST_F(PlanCommand, AnotherProfileDoes) {
  const std::string careful = folder_.write(
      "careful.yaml", contents(kProfile).replace(contents(kProfile).find("memoryMargin: \"0.06\""), 20,
                                                 "memoryMargin: \"0.30\""));
  const Outcome outcome = plan(fmt::format("--engine-profile '{}'", careful));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string usual = "74.4 GiB";  // usable
  EXPECT_THAT(plan("").out, HasSubstr(usual));
  EXPECT_THAT(outcome.out, Not(HasSubstr(usual)));
}

TEST_F(PlanCommand, AMistakeInAProfileIsNamedWithItsLine) {
  const std::string profile = folder_.write("bad.yaml", "name: bad\ngemmEfficiency: \"7\"\n");
  const Outcome outcome = plan(fmt::format("--engine-profile '{}'", profile));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("bad.yaml:2: gemmEfficiency: "));
  EXPECT_EQ(plan("--engine-profile /nowhere.yaml").exit_code, 2);
}

TEST_F(PlanCommand, ACatalogueFileBringsHardwareThatNobodyElseKnows) {
  const std::string catalogue = folder_.write("devices.yaml", R"(devices:
- name: Z900
  memory: 96Gi
  peakTeraflops: "500"
  memoryGigabytesPerSecond: "4000"
  nodeGigabytesPerSecond: "200"
  networkGigabytesPerSecond: "12.5"
- name: H100-80GB
  memory: 60Gi
)");
  const Outcome own = plan(fmt::format("--device-catalogue '{}' --device z900", catalogue));
  EXPECT_EQ(own.exit_code, 0) << own.err;
  EXPECT_THAT(own.out, HasSubstr("on 64 Z900 devices"));
  const Outcome smaller = plan(fmt::format("--device-catalogue '{}' -o json", catalogue));
  const auto report = from_json<v1alpha1::PlanReport>(smaller.out);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_LT(report->plan().usable_bytes(), int64_t{60} << 30);
}

TEST_F(PlanCommand, AMistakeInACatalogueIsNamedWithItsLine) {
  const std::string out_of_bounds =
      folder_.write("bad.yaml", "devices:\n- name: H100-80GB\n  peakTeraflops: \"-1\"\n");
  const Outcome outcome = plan(fmt::format("--device-catalogue '{}'", out_of_bounds));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("bad.yaml:3: devices[0].peakTeraflops: "));
  const std::string lacking = folder_.write("lacking.yaml", "devices:\n- name: Z900\n  memory: 96Gi\n");
  const Outcome incomplete = plan(fmt::format("--device-catalogue '{}'", lacking));
  EXPECT_EQ(incomplete.exit_code, 2);
  EXPECT_THAT(incomplete.err, HasSubstr("lacking.yaml:2: devices[0].peakTeraflops: is needed"));
}

TEST_F(PlanCommand, WhyExplainsOneLayout) {
  const Outcome outcome = plan("--why tensor=8,pipeline=8");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("TP8 PP8 DP1"));
  const auto candidate = from_json<v1alpha1::Candidate>(plan("--why tensor=8,pipeline=8 -o json").out);
  ASSERT_TRUE(candidate) << candidate.error().message;
  EXPECT_EQ(candidate->pipeline(), 8);
}

TEST_F(PlanCommand, WhyWarnsAsThePlanDoes) {
  const std::string job = "--set spec.training.sequenceLength=16384";
  const std::string warning =
      "warning: spec.training.sequenceLength: 16384 is longer than the 8192 positions";
  ASSERT_THAT(plan(job).err, StartsWith(warning));
  EXPECT_THAT(plan(job + " --why tensor=8").err, StartsWith(warning));
  EXPECT_THAT(plan(job + " --why tensor=8 -o json").err, StartsWith(warning));
}

TEST_F(PlanCommand, DrawsThePlanAsAPicture) {
  const Outcome outcome = plan("-o svg");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("<svg "));
  const Outcome too_large = plan("-o svg --devices 8");
  EXPECT_EQ(too_large.exit_code, 3);
  EXPECT_THAT(too_large.out, IsEmpty());
  const Outcome question = plan("--why tensor=8 -o svg");
  EXPECT_EQ(question.exit_code, 2);
  EXPECT_THAT(question.err, HasSubstr("--why: is answered in text or json"));
}

TEST_F(PlanCommand, CountsWithTheVocabularyThatTheJobGives) {
  const auto peak = [&](const char* vocabulary) {
    const Outcome outcome = plan(fmt::format("-o json --set spec.model.vocabSize={}", vocabulary));
    const auto report = from_json<v1alpha1::PlanReport>(outcome.out);
    EXPECT_TRUE(report) << outcome.err;
    return report ? report->plan().peak_bytes() : 0;
  };
  EXPECT_EQ(peak("128256"), from_json<v1alpha1::PlanReport>(plan("-o json").out)->plan().peak_bytes());
  EXPECT_LT(peak("32000"), peak("128256"));
}

TEST_F(PlanCommand, WhyRefusesAQuestionThatItDoesNotUnderstand) {
  const Outcome outcome = plan("--why tensr=8");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--why: \"tensr\" is none of tensor, pipeline"));
  const Outcome empty = plan("--why ''");
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_THAT(empty.err, HasSubstr("--why: \"\" is none of tensor, pipeline"));
}

}  // namespace
}  // namespace caravan
