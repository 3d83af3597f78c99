// The plan of a job is what its status remembers, whatever becomes of the ConfigMap that carries it; and the
// API server may name a job itself.
#include <boost/json/serialize.hpp>

#include "tests/kube/operator_program.h"

namespace caravan::controller::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class OperatorPlan : public OperatorProgram {
 protected:
  Json config_map() { return client().get({}, at(kConfigMaps), "train-plan").value_or(Json()); }
  std::string content() { return kube::text_at(config_map(), {"data", kPlanKey}); }
  void change(const Json& patch) {
    const auto changed = server_.call({.method = "PATCH",
                                       .target = kube::object_path(at(kConfigMaps), "train-plan"),
                                       .headers = {{"Content-Type", "application/merge-patch+json"}},
                                       .body = boost::json::serialize(patch)});
    ASSERT_TRUE(changed.is_success()) << changed.message();
  }
  static JsonObject forged() {
    return {{kPlanKey, R"({"plan": {"devices": 100000000}, "nodes": 100000000})"}};
  }
};

TEST_F(OperatorPlan, IsWrittenAgainWhenSomebodyChangesIt) {
  const Process program = start_operator();
  create_job(job_yaml());
  await_pods({"train-0-a1", "train-1-a1"});
  for (const char* pod : {"train-0-a1", "train-1-a1"}) run(pod);
  const std::string plan = content();
  change(JsonObject{{"data", forged()}});
  await("the plan is back", [&] { return content() == plan; });
  await("an event", [&] { return has_event(reasons::kPlanRepaired); });
  end("train-1-a1", "Failed", 137);
  await_pods({"train-0-a1", "train-1-a2"});
  EXPECT_EQ(content(), plan);
}

TEST_F(OperatorPlan, IsMadeAgainWhenSomebodyDeletesIt) {
  const Process program = start_operator();
  create_job(job_yaml());
  await_pods({"train-0-a1", "train-1-a1"});
  const std::string plan = content();
  ASSERT_TRUE(client().remove({}, at(kConfigMaps), "train-plan", {}));
  await("the plan is back", [&] { return content() == plan; });
  await("an event", [&] { return has_event(reasons::kPlanRepaired); });
  EXPECT_THAT(pods(), SizeIs(2));
}

TEST_F(OperatorPlan, IsMadeAgainWhenSomebodyMakesItImmutable) {
  const Process program = start_operator();
  create_job(job_yaml());
  await_pods({"train-0-a1", "train-1-a1"});
  const std::string plan = content();
  change(JsonObject{{"immutable", true}, {"data", forged()}});
  await("the plan is back", [&] { return content() == plan; });
  await("an event", [&] { return has_event(reasons::kPlanRepaired); });
  EXPECT_EQ(kube::find(config_map(), {"immutable"}), nullptr);
}

TEST_F(OperatorPlan, ComesBackFromWhereItsWatchCannotSee) {
  const Process program = start_operator();
  create_job(job_yaml());
  await_pods({"train-0-a1", "train-1-a1"});
  const std::string plan = content();
  const JsonObject without_label{{"labels", JsonObject{{labels::kManagedBy, nullptr}}}};
  change(JsonObject{{"metadata", without_label}, {"data", forged()}});
  await("the plan is back", [&] { return content() == plan; });
  EXPECT_EQ(kube::text_at(config_map(), {"metadata", "labels", labels::kManagedBy}), kManager);
  await("an event", [&] { return has_event(reasons::kPlanRepaired); });
}

TEST_F(OperatorPlan, IsMadeForAJobThatTheApiServerNames) {
  const Process program = start_operator();
  std::string yaml = job_yaml();
  yaml.replace(yaml.find("{name: train}"), 13,
               "{generateName: train-, finalizers: [example.com/kept], annotations: {a: b}}");
  create_job(yaml);
  await("two pods", [&] { return pods().size() == 2; });
  EXPECT_THAT(pods(), ::testing::Each(StartsWith("train-")));
}

TEST_F(OperatorPlan, IsNotMadeForANameThatIsTooLong) {
  std::string yaml = job_yaml();
  yaml.replace(yaml.find("{name: train}"), 13, "{generateName: " + std::string(50, 'a') + "}");
  EXPECT_THAT(server_.create(yaml).message(), HasSubstr("a name of at most 51 characters"));
}

TEST_F(OperatorPlan, IsNotMadeForMoreNodesThanAJobMayHave) {
  std::string yaml = job_yaml();
  yaml.replace(yaml.find("devices: 4, devicesPerNode: 2"), 29, "devices: 1048576, devicesPerNode: 1");
  EXPECT_THAT(server_.create(yaml).message(), HasSubstr("a job may have at most 16384 nodes"));
}

}  // namespace
}  // namespace caravan::controller::testing
