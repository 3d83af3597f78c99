// The definition in the API server is newer than the operator, and older again, while a job runs. It is
// everybody's, so these tests have a server of their own.
#include <fmt/format.h>

#include <regex>

#include "tests/kube/operator_program.h"

namespace caravan::controller::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const kube::Resource kDefinitions{
    .group = "apiextensions.k8s.io", .version = "v1", .plural = "customresourcedefinitions"};
constexpr const char* kDefinition = "llamatrainingjobs.training.caravan.dev";
constexpr const char* kNewField = "stepsOfAWarmStart";
constexpr int kLongerThanThisOperatorAllows = 999999;

class OperatorVersions : public OperatorProgram {
 protected:
  ~OperatorVersions() override { install(definition()); }

  static std::string definition() {
    return kube::testing::contents_of(std::string("deploy/helm/caravan/files/crds/") + kDefinition + ".yaml");
  }
  // That both definitions allow.
  static std::string allowed_job(const std::string& name) {
    return std::regex_replace(job_yaml(2, "", name), std::regex("steps: 100"), "steps: 10");
  }
  // A field more, whose default stands in every object from now on, a tighter rule and a looser one.
  static std::string newer_definition() {
    std::string text = std::regex_replace(definition(), std::regex("604800"), "999999");
    const auto steps = text.find("                  steps:\n");
    text.insert(steps, fmt::format("                  {}: {{type: integer, default: 0}}\n", kNewField));
    const std::string bound = "maximum: 2000000000";
    return text.replace(text.find(bound, steps), bound.size(), "maximum: 50");
  }
  // Until it is served: the API server answers by the old one for a moment after it has taken the new one.
  void install(const std::string& text) {
    const auto applied = server_.call({.method = "PATCH",
                                       .target = kube::object_path({.resource = kDefinitions}, kDefinition) +
                                                 "?fieldManager=test&force=true",
                                       .headers = {{"Content-Type", "application/apply-patch+yaml"}},
                                       .body = text});
    ASSERT_TRUE(applied.is_success()) << applied.message();
    const bool is_newer = text.find(kNewField) != std::string::npos;
    await("the definition is served", [&] {
      const auto tried = server_.try_out(allowed_job("tried"));
      return tried.is_success() && has_new_field(tried.body) == is_newer;
    });
  }
  static bool has_new_field(const Json& job) {
    return kube::find(job, {"spec", "training", kNewField}) != nullptr;
  }
};

TEST_F(OperatorVersions, AJobTrainsThroughANewerDefinitionAndBack) {
  Process program = start_operator();
  create_job(job_yaml());
  await_pods({"train-0-a1", "train-1-a1"});
  for (const char* pod : {"train-0-a1", "train-1-a1"}) run(pod);
  await_condition("Scheduled", "all 2 pods have a machine");
  install(newer_definition());
  const auto changed = server_.merge(
      "/train", JsonObject{{"spec", JsonObject{{"stallTimeoutSeconds", kLongerThanThisOperatorAllows}}}});
  ASSERT_TRUE(changed.is_success()) << changed.message();
  await_condition("Planned", "would refuse the job today (spec.stallTimeoutSeconds");
  end("train-1-a1", "Failed", 137);
  await_pods({"train-0-a1", "train-1-a2"});
  kill_leader(program);
  Process next = start_operator();
  run("train-1-a2");
  await_condition("Planned", "left out of account: spec.training.stepsOfAWarmStart");
  EXPECT_THAT(condition("Planned"), StartsWith("True HeuristicSelected"));
  end("train-1-a2", "Failed", 137);
  await_pods({"train-0-a1", "train-1-a3"});
  install(definition());
  kill_leader(next);
  const Process last = start_operator();
  run("train-1-a3");
  await("the remark goes", [&] { return condition("Planned").find("left out") == std::string::npos; });
  end("train-0-a1", "Succeeded", 0);
  await_state("Complete");
  EXPECT_EQ(kube::integer_at(job(), {"status", "restarts"}), 2);
}

TEST_F(OperatorVersions, ANewJobOfANewerDefinitionWaitsAndStartsOnceItIsUnderstood) {
  install(newer_definition());
  Process program = start_operator();
  create_job(allowed_job("train"));
  await_condition("Planned", "False NewerSpec: spec.training.stepsOfAWarmStart");
  EXPECT_EQ(condition("Failed"), "");
  kill_leader(program);
  install(definition());
  const Process next = start_operator();
  await_pods({"train-0-a1", "train-1-a1"});
}

TEST_F(OperatorVersions, AJobOfAnOlderOperatorGoesOnWithTheLayoutThatItShows) {
  Process program = start_operator();
  create_job(job_yaml());
  await_pods({"train-0-a1", "train-1-a1"});
  for (const char* pod : {"train-0-a1", "train-1-a1"}) run(pod);
  await_condition("Scheduled", "all 2 pods have a machine");
  kill_leader(program);
  const auto forgotten = server_.merge(
      "/train/status",
      JsonObject{
          {"status", JsonObject{{"plan", JsonObject{{"document", nullptr}, {"tensor", 2}, {"data", 2}}}}}});
  ASSERT_TRUE(forgotten.is_success()) << forgotten.message();
  const Process next = start_operator();
  await("the plan is remembered", [&] { return !job_text({"status", "plan", "document"}).empty(); });
  EXPECT_EQ(job_text({"status", "layout"}), "TP2 PP1 DP2");
  EXPECT_THAT(condition("Failed"), Not(HasSubstr("True")));
  end("train-1-a1", "Failed", 137);
  await_pods({"train-0-a1", "train-1-a2"});
}

}  // namespace
}  // namespace caravan::controller::testing
