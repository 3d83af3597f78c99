// The names of jobs, which a shell asks for at the keyboard.
#include <gmock/gmock.h>

#include "cli/cluster/cluster.h"
#include "tests/kube/connect_cluster.h"

namespace caravan::kube::testing {
namespace {

using ::testing::HasSubstr;

TEST(JobNames, AreNotWaitedForWhileACredentialPluginTakesItsTime) {
  const FaultServer server(reply_with(200, R"({"items": []})"));
  const test::TemporaryFolder folder;
  const auto cluster = connect_cluster(server, folder, user_by_plugin(folder, "sleep 5"), true);
  ASSERT_NE(cluster, nullptr);
  const auto names = cluster->names();
  ASSERT_FALSE(names);
  EXPECT_THAT(names.error().message, HasSubstr("printed no credentials in time"));
}

}  // namespace
}  // namespace caravan::kube::testing
