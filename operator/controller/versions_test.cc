// Jobs outlive versions of operator and definition: what stands in an object or a status that another version
// wrote, and what follows.
#include <gmock/gmock.h>

#include "common/json.h"
#include "operator/api/conditions.h"
#include "operator/controller/decide.h"
#include "operator/controller/job_reader.h"
#include "operator/controller/plan_record.h"
#include "operator/controller/planning_policy.h"
#include "operator/testing/jobs.h"

namespace caravan::controller::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Decision decide_now(const Job& job) {
  return decide({.job = job}, settings(), kStart);
}

const v1alpha1::Condition& planned(const Decision& decision) {
  static const v1alpha1::Condition kNone;
  const auto* found = find_condition(decision.status, conditions::kPlanned);
  return found == nullptr ? kNone : *found;
}

v1alpha1::JobStatus status_of_a_planned_job() {
  return decide_now(job()).status;
}

Job planned_job(const std::string& spec_more = "") {
  Job read = job(spec_more);
  read.status = status_of_a_planned_job();
  return read;
}

TEST(Versions, AJobWithFieldsThatNobodyKnowsYetWaitsForWhoDoes) {
  const Decision decision = decide_now(job(R"(, "tuning": {"rate": 1}, "worker": {"sidecar": true})"));
  EXPECT_EQ(planned(decision).status(), "False");
  EXPECT_EQ(planned(decision).reason(), reasons::kNewerSpec);
  EXPECT_THAT(planned(decision).message(), HasSubstr("spec.tuning, spec.worker.sidecar: not known to this"));
  EXPECT_FALSE(is_finished(decision.status)) << "the next operator may take it";
  EXPECT_THAT(decision.effects, IsEmpty());
}

TEST(Versions, AJobThatOtherRulesLetThroughWaitsToo) {
  const Decision decision = decide_now(job(R"(, "stallTimeoutSeconds": 999999999)"));
  EXPECT_EQ(planned(decision).reason(), reasons::kInvalidSpec);
  EXPECT_THAT(planned(decision).message(), HasSubstr("spec.stallTimeoutSeconds: expected a whole number"));
  EXPECT_FALSE(is_finished(decision.status));
}

TEST(Versions, AJobThatHasAPlanGoesOnWithFieldsThatNobodyKnows) {
  const Decision decision = decide_now(planned_job(R"(, "tuning": 1)"));
  EXPECT_EQ(planned(decision).status(), "True");
  EXPECT_EQ(planned(decision).reason(), reasons::kHeuristicSelected);
  EXPECT_THAT(planned(decision).message(), HasSubstr("left out of account: spec.tuning."));
  EXPECT_FALSE(decision.effects.empty());
}

TEST(Versions, AJobThatHasAPlanGoesOnUnderTighterRulesWithWhatItSays) {
  const Decision decision =
      decide_now(planned_job(R"(, "stallTimeoutSeconds": 999999999, "suspend": false)"));
  EXPECT_EQ(planned(decision).status(), "True");
  EXPECT_THAT(planned(decision).message(), HasSubstr("would refuse the job today (spec.stallTimeoutSeconds"));
  EXPECT_EQ(decision.plan.spec().stall_timeout_seconds(), 999999999);
  EXPECT_EQ(decision.plan.spec().failure_policy().max_restarts(), 10) << "defaults are filled in";
  EXPECT_FALSE(is_finished(decision.status));
}

TEST(Versions, APlanWithUnknownFieldsStaysAsItIsAndIsFollowed) {
  Job later = planned_job();
  const std::string document =
      later.status.plan().document().substr(0, later.status.plan().document().size() - 1) +
      R"(,"later":{"a":1}})";
  later.status.mutable_plan()->set_document(document);
  const Decision decision = decide_now(later);
  EXPECT_EQ(planned(decision).status(), "True");
  EXPECT_THAT(planned(decision).message(), HasSubstr("status.plan.document: later: unknown field"));
  EXPECT_EQ(decision.status.plan().document(), document);
  EXPECT_EQ(decision.plan.plan().data(), 4);
}

TEST(Versions, WhatALaterOperatorRemembersIsWrittenBackAsItIs) {
  kube::Json object = job_object();
  object.as_object()["status"] =
      kube::parse_json(R"({"attempt": 1, "later": [1], "plan": {"tensor": 1, "experts": {"parallel": 2}}})",
                       "status")
          .value();
  const Job read = read_job(object);
  v1alpha1::JobStatus status = read.status;
  status.set_attempt(2);
  EXPECT_EQ(
      *kube::find(status_intent(read, status), {"status"}),
      kube::parse_json(R"({"attempt": 2, "plan": {"tensor": 1, "experts": {"parallel": 2}}, "later": [1]})",
                       "status")
          .value());
}

TEST(Versions, OfAnOlderPlanTheSizesStandAndTheRestIsPlannedAroundThem) {
  Job older = planned_job();
  v1alpha1::PlanStatus& shown = *older.status.mutable_plan();
  shown.clear_document();
  shown.set_tensor(2);
  shown.set_pipeline(2);
  shown.set_data(1);
  shown.set_micro_batch_size(4);
  shown.set_reason("as it was planned");
  const Decision decision = decide_now(older);
  EXPECT_EQ(planned(decision).reason(), reasons::kHeuristicSelected);
  EXPECT_THAT(planned(decision).message(), HasSubstr("as it was planned"));
  const v1alpha1::Plan& plan = decision.plan.plan();
  EXPECT_EQ(decision.status.layout(), "TP2 PP2 DP1");
  EXPECT_EQ(plan.micro_batch_size(), 4);
  EXPECT_EQ(plan.layers_per_stage_size(), 2);
  Job next = older;
  next.status = decision.status;
  EXPECT_EQ(to_json(decide_now(next).plan), to_json(decision.plan)) << "from now on it is remembered";
}

TEST(Versions, APlanWhoseDocumentIsGoneKeepsItsScheduleWithChunksAndSegments) {
  for (const auto& [schedule, chunks, segments] :
       {std::tuple{"VHalf", 2, 0}, std::tuple{"Interleaved", 2, 0}, std::tuple{"SeqZBH1", 1, 4}}) {
    Job job = planned_job();
    job.status.clear_plan();
    v1alpha1::Parallelism& parallelism = *job.spec.mutable_parallelism();
    parallelism.set_tensor(1);
    parallelism.set_pipeline(2);
    parallelism.set_schedule(schedule);
    if (chunks > 1) parallelism.set_virtual_stages(chunks);
    if (segments > 1) parallelism.set_segments(segments);
    job.status = decide_now(job).status;
    ASSERT_EQ(job.status.plan().schedule(), schedule) << planned(decide_now(job)).message();
    job.status.mutable_plan()->clear_document();
    parallelism.Clear();
    const v1alpha1::Plan plan = decide_now(job).plan.plan();
    EXPECT_EQ(plan.schedule(), schedule);
    EXPECT_EQ(plan.virtual_stages(), chunks) << schedule;
    EXPECT_EQ(plan.segment_tokens_size(), segments) << schedule;
  }
}

TEST(Versions, AnOlderPlanThatCannotBeMadeAgainIsToldAndDoesNotFailTheJob) {
  Job older = planned_job();
  older.status.mutable_plan()->clear_document();
  older.status.mutable_plan()->set_tensor(1000000);
  const Decision decision = decide_now(older);
  EXPECT_EQ(planned(decision).reason(), reasons::kDamagedPlan);
  EXPECT_FALSE(is_finished(decision.status));
  EXPECT_EQ(decision.status.plan().tensor(), 1000000) << "what is remembered stays";
}

TEST(Versions, WhatAPlanSaysIsBelievedOnlyIfItIsOneOfTheJobs) {
  const auto verdict_on = [](const std::string& document) {
    Job forged = planned_job();
    forged.status.mutable_plan()->set_document(document);
    const Decision decision = decide_now(forged);
    EXPECT_EQ(planned(decision).status(), "False") << document;
    EXPECT_EQ(planned(decision).reason(), reasons::kDamagedPlan) << document;
    EXPECT_FALSE(is_finished(decision.status)) << document;
    EXPECT_THAT(decision.effects, IsEmpty()) << document;
    EXPECT_EQ(decision.status.plan().document(), document);
    return planned(decision).message();
  };
  const auto plan = [](const std::string& changes) {
    v1alpha1::PlanRecord record;
    const Job made = planned_job();
    *record.mutable_plan() = read_document(made, made.status.plan().document())->plan.plan();
    record.mutable_plan()->MergeFrom(from_json<v1alpha1::Plan>(changes).value());
    return to_json(record);
  };
  EXPECT_THAT(verdict_on("{"), HasSubstr("it is no JSON"));
  EXPECT_THAT(verdict_on("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(verdict_on("{}"), HasSubstr("must be at least 1"));
  EXPECT_THAT(verdict_on(R"({"plan": {"tensor": "one"}})"), HasSubstr("expected a whole number"));
  EXPECT_THAT(verdict_on(plan(R"({"devices": 100000000})")), HasSubstr("devices is 100000000"));
  EXPECT_THAT(verdict_on(plan(R"({"data": 8})")), HasSubstr("not one of the 4 devices"));
  EXPECT_THAT(verdict_on(plan(R"({"tensor": 65536, "pipeline": 65536, "data": 65536})")),
              HasSubstr("not one of the 4 devices"));
  EXPECT_THAT(verdict_on(plan(R"({"devicesPerNode": -1})")), HasSubstr("devicesPerNode is -1"));
  EXPECT_THAT(verdict_on(plan(R"({"devicesPerNode": 4})")), HasSubstr("devicesPerNode is 4"));
  EXPECT_THAT(verdict_on(plan(R"({"layersPerStage": [1, 1]})")), HasSubstr("layersPerStage has"));
  EXPECT_THAT(verdict_on(plan(R"({"stepSeconds": -1e300})")), HasSubstr("stepSeconds must be at least 0"));
  EXPECT_THAT(verdict_on(plan(R"({"mfu": 1e300})")), HasSubstr("mfu from 0 to 1"));
  EXPECT_THAT(verdict_on(plan(R"({"source": ")" + std::string(64, 's') + R"("})")), HasSubstr("short names"));
  EXPECT_THAT(verdict_on(std::string(5000, '[') + std::string(5000, ']')), HasSubstr("it is no JSON"));
}

TEST(Versions, MetadataBelongsToTheApiServer) {
  kube::Json object = job_object();
  kube::JsonObject& metadata = object.as_object()["metadata"].as_object();
  metadata["generateName"] = "train-";
  metadata["namespace"] = "7-teams";
  metadata["selfLink"] = 1;
  metadata["fieldOfALaterVersion"] = kube::JsonObject{{"a", 1}};
  kube::JsonObject many;
  for (int i = 0; i < 2000; ++i) many[fmt::format("example.com/{}", i)] = "";
  metadata["labels"] = metadata["annotations"] = many;
  const Job read = read_job(object);
  EXPECT_THAT(read.mistakes, IsEmpty());
  EXPECT_THAT(read.unknown_fields, IsEmpty());
  metadata["name"] = std::string(58, 'a') + "b1c2d";
  EXPECT_THAT(read_job(object).mistakes,
              ElementsAre(HasSubstr("metadata.name: expected a name of at most 51")));
}

TEST(Versions, UnknownFieldsAreNamedWhereTheyStand) {
  const Job read =
      job(R"(, "worker": {"env": [{"name": "A", "from": 1}, {"name": "B"}], "nodeSelector": {"x": "y"}})");
  EXPECT_THAT(read.unknown_fields, ElementsAre("spec.worker.env[0].from"));
  EXPECT_THAT(read.mistakes, IsEmpty());
  EXPECT_EQ(read.spec.worker().env(0).name(), "A");
}

TEST(Versions, ADefaultThatANewDefinitionAddsIsSeenThoughTheGenerationStays) {
  JobReader reader;
  EXPECT_THAT(reader.read(job_object()).unknown_fields, IsEmpty());
  EXPECT_THAT(reader.read(job_object(R"(, "tuning": 1)")).unknown_fields, ElementsAre("spec.tuning"));
  EXPECT_THAT(reader.read(job_object()).unknown_fields, IsEmpty());
}

// A namespace may have any number of them.
TEST(JobReader, KeepsNothingOfJobsThatAreSuspendedOrOver) {
  JobReader reader;
  reader.read(job_object());
  EXPECT_EQ(reader.kept(), 1U);
  EXPECT_TRUE(reader.read(job_object(R"(, "suspend": true)")).spec.suspend());
  EXPECT_EQ(reader.kept(), 0U);
  reader.read(job_object());
  kube::Json over = job_object();
  over.as_object()["status"] = kube::JsonObject{
      {"conditions", kube::JsonArray{kube::JsonObject{{"type", "Complete"}, {"status", "True"}}}}};
  EXPECT_TRUE(is_finished(reader.read(over).status));
  EXPECT_EQ(reader.kept(), 0U);
}

TEST(Versions, ASpecWithAChoiceOfALaterVersionCannotBeReadForItWouldSaySomethingElse) {
  kube::Json object = job_object();
  object.as_object()["spec"].as_object()["training"].as_object()["precision"] = "FP6";
  EXPECT_THAT(read_job(object).unreadable_spec, HasSubstr("training: precision: unknown value"));
}

TEST(Versions, ASpecOfAnotherTypeCannotBeRead) {
  kube::Json object = job_object();
  object.as_object()["spec"].as_object()["training"].as_object()["steps"] = "many";
  const Job read = read_job(object);
  EXPECT_THAT(read.unreadable_spec, HasSubstr("training: steps: expected a whole number"));
  EXPECT_THAT(read.mistakes, ElementsAre(HasSubstr("spec.training.steps")));
}

}  // namespace
}  // namespace caravan::controller::testing
