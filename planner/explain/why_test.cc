#include "planner/explain/why.h"

#include <gmock/gmock.h>

#include "planner/explain/question.h"
#include "planner/search/search.h"
#include "planner/testing/jobs.h"

namespace caravan::planner {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr int kWidth = 400;  // sentences stay whole

WhyAnswer why(const v1alpha1::JobSpec& spec, const std::string& question) {
  const auto answer = explain_layout(spec, {}, default_profile(), question, kWidth);
  EXPECT_TRUE(answer) << answer.error().message;
  return answer.value_or(WhyAnswer{});
}

TEST(AskAbout, TakesEveryChoiceOfALayout) {
  const auto asked = ask_about(request_of(gpu_job("llama3-8b", 8)),
                               "tensor=4,pipeline=2,data=1,microBatchSize=2,sequenceParallel=false,"
                               "activationCheckpointing=Always,schedule=GPipe,zeroStage=0,virtualStages=2");
  ASSERT_TRUE(asked) << asked.error().message;
  EXPECT_EQ(asked->fixed.tensor, 4);
  EXPECT_EQ(asked->fixed.pipeline, 2);
  EXPECT_EQ(asked->fixed.data, 1);
  EXPECT_EQ(asked->fixed.micro_batch_size, 2);
  EXPECT_EQ(asked->fixed.sequence_parallel, false);
  EXPECT_EQ(asked->fixed.checkpointing, CheckpointingPolicy::Always);
  EXPECT_EQ(asked->fixed.schedule, ScheduleKind::GPipe);
  EXPECT_EQ(asked->fixed.zero_stage, 0);
  EXPECT_EQ(asked->fixed.virtual_stages, 2);
}

TEST(AskAbout, ASizeReplacesAllSizesOfTheJobAndNothingElse) {
  PlanRequest request = request_of(gpu_job("llama3-8b", 8));
  request.fixed.tensor = request.fixed.pipeline = request.fixed.data = 2;
  request.fixed.micro_batch_size = 2;
  EXPECT_EQ(ask_about(request, "microBatchSize=1")->fixed.data, 2);
  const auto asked = ask_about(request, "tensor=8");
  EXPECT_EQ(asked->fixed.tensor, 8);
  EXPECT_FALSE(asked->fixed.pipeline);
  EXPECT_EQ(asked->fixed.micro_batch_size, 2);
}

TEST(AskAbout, AutoLeavesTheScheduleToThePlanner) {
  PlanRequest request = request_of(gpu_job("llama3-8b", 8));
  request.fixed.schedule = ScheduleKind::GPipe;
  const auto asked = ask_about(request, "schedule=Auto");
  ASSERT_TRUE(asked) << asked.error().message;
  EXPECT_FALSE(asked->fixed.schedule);
}

TEST(AskAbout, NamesWhatItDoesNotUnderstand) {
  const std::pair<const char*, const char*> cases[] = {
      {"tensr=4", "\"tensr\" is none of tensor, pipeline,"},
      {"tensor=4,", "\"\" is none of "},
      {"tensor", "tensor must be a whole number from 1 to 16; it is \"\""},
      {"tensor=0", "tensor must be a whole number from 1 to 16; it is \"0\""},
      {"tensor=65536,pipeline=65536", "tensor must be "},
      {"segments=2000000000", "segments must be "},
      {"zeroStage=7", "zeroStage must be "},
      {"data=2x", "data must be "},
      {"sequenceParallel=yes", "sequenceParallel must be true or false"},
      {"activationCheckpointing=never", "must be Always, Never or WhenNeeded"},
      {"schedule=2F2B", "schedule must be "}};
  for (const auto& [question, message] : cases) {
    const auto asked = ask_about(request_of(gpu_job("llama3-8b", 8)), question);
    ASSERT_FALSE(asked) << question;
    EXPECT_EQ(asked.error().code, ExitCode::kBadInput);
    EXPECT_THAT(asked.error().message, HasSubstr(message));
  }
}

TEST(ExplainLayout, OfASlowerOneSaysSoAndWhereItsStepGoes) {
  const WhyAnswer answer = why(gpu_job("llama3-70b", 64), "tensor=8,pipeline=8,data=1");
  EXPECT_EQ(answer.candidate.verdict() == v1alpha1::Verdict::Illegal, false);
  EXPECT_THAT(answer.text, StartsWith("TP8 PP8 DP1, micro-batch size 1"));
  EXPECT_THAT(answer.text, HasSubstr("It fits, but the plan is "));
  EXPECT_THAT(answer.text, HasSubstr("(| is the limit, "));
  EXPECT_THAT(answer.text, ContainsRegex("Where a step goes +this one +the plan\n"));
  EXPECT_THAT(answer.text, ContainsRegex("tensor parallel traffic +[0-9.]+ m?s +[0-9.]+ m?s\n"));
}

TEST(ExplainLayout, TellsProgramsWhereTheStepGoesToo) {
  const v1alpha1::Candidate candidate = why(gpu_job("llama3-8b", 16), "tensor=4,pipeline=2").candidate;
  const v1alpha1::StepParts& parts = candidate.step_parts();
  EXPECT_GT(parts.compute(), 0);
  EXPECT_GT(parts.tensor_traffic(), 0);
  EXPECT_NEAR(
      parts.compute() + parts.tensor_traffic() + parts.idle() + parts.data_traffic() + parts.optimizer(),
      candidate.step_seconds(), 1e-9 * candidate.step_seconds());
  EXPECT_NEAR(parts.idle() / candidate.step_seconds(), candidate.bubble_fraction(), 1e-9) << "of the step";
}

TEST(ExplainLayout, OfOneThatDoesNotFitNamesStageTermAndBytes) {
  const WhyAnswer answer =
      why(gpu_job("llama3-70b", 64), "tensor=1,pipeline=1,zeroStage=1,activationCheckpointing=Never");
  EXPECT_EQ(answer.candidate.verdict(), v1alpha1::Verdict::DoesNotFit);
  EXPECT_THAT(answer.text, ContainsRegex("It does not fit: stage 0 needs [0-9.]+ GiB of [0-9.]+ GiB usable: "
                                         "[a-z]+ [0-9.]+ GiB"));
  EXPECT_THAT(answer.text, ContainsRegex("[A-Z][|][A-Z]"));
}

TEST(ExplainLayout, WarnsAsThePlanDoes) {
  v1alpha1::JobSpec spec = gpu_job("llama3-8b", 16);
  spec.mutable_training()->set_sequence_length(16384);
  EXPECT_THAT(
      why(spec, "tensor=4").warnings,
      testing::ElementsAre(StartsWith("spec.training.sequenceLength: 16384 is longer than the 8192 ")));
}

TEST(ExplainLayout, OfOneThatMakesLayersAgainSaysWhetherItNeeds) {
  v1alpha1::JobSpec tight = gpu_job("llama3.1-8b", 8);
  tight.mutable_training()->set_sequence_length(32768);
  tight.mutable_training()->set_global_batch_sequences(16);
  tight.mutable_resources()->mutable_device()->set_memory("56Gi");
  EXPECT_THAT(
      why(tight, "tensor=2,pipeline=2").text,
      ContainsRegex("Against it: a step takes [0-9.]+ % less time, but it makes (the MLPs of )?[0-9]+ of "
                    "32 layers again, and the plan makes none\\."));
  v1alpha1::JobSpec roomy = cpu_job("llama-mini", 2);
  roomy.mutable_resources()->mutable_device()->set_memory("8Gi");
  EXPECT_THAT(why(roomy, "activationCheckpointing=Always").text,
              HasSubstr("Against it: computes activations twice without need."));
}

TEST(ExplainLayout, OfAnIllegalOneNamesTheRule) {
  EXPECT_THAT(why(gpu_job("llama3-8b", 16), "tensor=16").text,
              HasSubstr("It is not legal: spec.parallelism.tensor: "));
  EXPECT_THAT(why(gpu_job("llama3-8b", 16), "tensor=3").text, HasSubstr("It is not legal: spec.parallelism"));
  EXPECT_THAT(why(gpu_job("llama3-8b", 16), "tensor=4,pipeline=4,data=8").text,
              HasSubstr("4 x 4 x 8 is not 16"));
}

TEST(ExplainLayout, OfAScheduleThatTheEngineDoesNotRunSaysSo) {
  for (const ScheduleKind kind : all_schedule_kinds()) {
    const std::string name(schedule_name(kind));
    const std::string text = why(gpu_job("llama3-8b", 16), "pipeline=4,tensor=4,schedule=" + name).text;
    if (may_be_asked_for(kind)) {
      EXPECT_THAT(text, testing::Not(HasSubstr("not legal"))) << name;
    } else {
      EXPECT_THAT(text, HasSubstr("It is not legal: spec.parallelism")) << name;
    }
  }
}

TEST(ExplainLayout, OfThePlanItselfSaysThatItIsThePlan) {
  const v1alpha1::JobSpec spec = gpu_job("llama3-8b", 16);
  const Layout plan = search_layouts(request_of(spec), default_profile(), {}).chosen()->layout;
  const WhyAnswer answer = why(
      spec, "tensor=" + std::to_string(plan.mesh.tensor) + ",pipeline=" + std::to_string(plan.mesh.pipeline));
  EXPECT_THAT(answer.text, HasSubstr("It is the plan. "));
  EXPECT_THAT(answer.text, Not(HasSubstr("this one")));
}

TEST(ExplainLayout, ThatFitsOnlyWithCheckpointingSaysWhatItLacksWithout) {
  EXPECT_THAT(why(gpu_job("llama3-70b", 64), "tensor=2,pipeline=4,zeroStage=1").text,
              HasSubstr("Without activation checkpointing it does not fit: stage "));
  EXPECT_THAT(why(gpu_job("llama3-70b", 64), "tensor=2,pipeline=8,zeroStage=1,schedule=1F1B").text,
              ContainsRegex("Without activation checkpointing it fits with a chance of [0-9.]+ % only"));
}

}  // namespace
}  // namespace caravan::planner
