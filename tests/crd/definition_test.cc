// How the real API server presents jobs.
#include <gmock/gmock.h>

#include "tests/crd/job_server.h"

namespace caravan::kube::testing {
namespace {

using ::testing::ElementsAre;

const Resource kDefinitions{
    .group = "apiextensions.k8s.io", .version = "v1", .plural = "customresourcedefinitions"};
constexpr const char* kDefinition = "llamatrainingjobs.training.caravan.dev";

// The status of a condition of the definition.
std::string condition_of(const Json& definition, const std::string& type) {
  for (const Json& condition : find(definition, {"status", "conditions"})->as_array()) {
    if (text_at(condition, {"type"}) == type) return text_at(condition, {"status"});
  }
  return "";
}

std::vector<std::string> column_names(const Json& table) {
  std::vector<std::string> names;
  for (const Json& column : find(table, {"columnDefinitions"})->as_array()) {
    names.push_back(text_at(column, {"name"}));
  }
  return names;
}

TEST(Definition, IsEstablishedAndStructural) {
  JobServer server;
  const auto definition = server.client().get({}, {.resource = kDefinitions}, kDefinition);
  ASSERT_TRUE(definition) << definition.error().message;
  EXPECT_EQ(condition_of(*definition, "NamesAccepted"), "True");
  EXPECT_EQ(condition_of(*definition, "Established"), "True");
  EXPECT_EQ(condition_of(*definition, "NonStructuralSchema"), "") << "there only when something is wrong";
  EXPECT_EQ(text_at(*definition, {"status", "acceptedNames", "kind"}), "LlamaTrainingJob");
  EXPECT_EQ(*find(*definition, {"status", "acceptedNames", "shortNames"}), JsonArray{"ltj"});
  EXPECT_EQ(*find(*definition, {"status", "acceptedNames", "categories"}), JsonArray{"training"});
}

TEST(Definition, ShowsWhatAJobDoes) {
  JobServer server;
  ASSERT_TRUE(server.create(contents_of("tests/crd/jobs/running.yaml")).is_success());
  const Json status = JsonObject{{"state", "Running"},
                                 {"layout", "TP2 PP1 DP2"},
                                 {"progress", JsonObject{{"percent", 40}, {"mfuPercent", "41.2"}}},
                                 {"restarts", 1},
                                 {"lastCheckpoint", JsonObject{{"step", 500}}}};
  ASSERT_TRUE(server.merge("/running/status", JsonObject{{"status", status}}).is_success());

  const Json table = server.table().body;
  EXPECT_THAT(column_names(table),
              ElementsAre("Name", "State", "Layout", "Progress", "MFU", "Restarts", "Checkpoint", "Age"));
  JsonArray cells = find(table, {"rows"})->as_array().at(0).at("cells").as_array();
  cells.pop_back();
  EXPECT_EQ(cells, (JsonArray{"running", "Running", "TP2 PP1 DP2", 40, "41.2", 1, 500}));
}

TEST(Definition, HasNoScale) {
  JobServer server;
  ASSERT_TRUE(server.create(contents_of("tests/crd/jobs/running.yaml")).is_success());
  EXPECT_EQ(server.merge("/running/scale", JsonObject{}).status, 404);
}

}  // namespace
}  // namespace caravan::kube::testing
