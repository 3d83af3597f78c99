#include "kube/api/resource_path.h"

#include <gtest/gtest.h>

namespace caravan::kube {
namespace {

TEST(ResourcePath, CoreAndNamedGroupsHaveDifferentRoots) {
  EXPECT_EQ(collection_path({.resource = kPods}), "/api/v1/pods");
  EXPECT_EQ(collection_path({.resource = kPods, .name_space = "team"}), "/api/v1/namespaces/team/pods");
  EXPECT_EQ(object_path({.resource = kLeases, .name_space = "s"}, "leader"),
            "/apis/coordination.k8s.io/v1/namespaces/s/leases/leader");
  EXPECT_EQ(object_path({.resource = kPods, .name_space = "s"}, "w-0", "status"),
            "/api/v1/namespaces/s/pods/w-0/status");
}

TEST(ResourcePath, ANameCannotLeaveItsPlace) {
  EXPECT_EQ(object_path({.resource = kPods, .name_space = "s"}, "../secrets?x=#"),
            "/api/v1/namespaces/s/pods/..%2Fsecrets%3Fx%3D%23");
}

TEST(ResourcePath, EncodesSelectorsAndLeavesOutWhatIsEmpty) {
  EXPECT_EQ(query_string({{"labelSelector", "a in (b,c),d!=e"}, {"continue", ""}, {"limit", "500"}}),
            "?labelSelector=a%20in%20%28b%2Cc%29%2Cd%21%3De&limit=500");
  EXPECT_EQ(query_string({{"continue", ""}}), "");
}

}  // namespace
}  // namespace caravan::kube
