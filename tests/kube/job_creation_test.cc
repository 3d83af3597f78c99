// A job that is given to a cluster whose definition of jobs is older than the command, and one that is
// deleted over a connection that breaks.
#include <gmock/gmock.h>

#include <atomic>

#include "cli/cluster/cluster.h"
#include "tests/kube/connect_cluster.h"

namespace caravan::kube::testing {
namespace {

using ::testing::HasSubstr;

TEST(JobCreation, LosesNoFieldThatAnOlderClusterDoesNotKnow) {
  const FaultServer server(without_field("spec.newest"));
  const test::TemporaryFolder folder;
  const auto cluster = connect_cluster(server, folder);
  ASSERT_NE(cluster, nullptr);
  const Json job =
      JsonObject{{"metadata", JsonObject{{"name", "tiny"}}}, {"spec", JsonObject{{"newest", 1}}}};
  for (const bool try_out : {true, false}) {
    const auto created = cluster->create(job, try_out);
    ASSERT_FALSE(created) << try_out;
    EXPECT_THAT(created.error().message, HasSubstr("unknown field \"spec.newest\"")) << try_out;
    EXPECT_EQ(created.error().code, ExitCode::kBadInput) << try_out;
  }
}

TEST(JobDeletion, IsDoneWhereTheConnectionBreaksBehindIt) {
  std::atomic<int> tries = 0;
  const FaultServer server([&](Exchange& exchange) {
    if (tries++ == 0) exchange.drop();
    exchange.reply(404, status_json(404, "NotFound"));
  });
  const test::TemporaryFolder folder;
  const auto cluster = connect_cluster(server, folder);
  ASSERT_NE(cluster, nullptr);
  const auto removed = cluster->remove(JsonObject{{"metadata", JsonObject{{"name", "tiny"}, {"uid", "u"}}}});
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(tries, 2);
}

}  // namespace
}  // namespace caravan::kube::testing
