#include "serving/cluster_config.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace caravan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ClusterConfig, WhoStartsOutsideOfAPodIsToldWhatToGive) {
  ::unsetenv("KUBERNETES_SERVICE_HOST");
  const auto none = load_cluster_config("");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ExitCode::kBadInput);
  EXPECT_THAT(none.error().message,
              AllOf(HasSubstr("not in a pod"), HasSubstr("--kubeconfig"), HasSubstr("kubectl config view")));
}

}  // namespace
}  // namespace caravan
