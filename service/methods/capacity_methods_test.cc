// What is read of a ResourceQuota.
#include "service/methods/capacity_methods.h"

#include <gtest/gtest.h>

namespace caravan::service {
namespace {

TEST(CapacityMethods, AQuotaHasALineForEachResource) {
  const auto limits = limits_of(kube::parse_json(R"({"metadata": {"name": "team"},
      "spec": {"hard": {"requests.nvidia.com/gpu": "99"}},
      "status": {"hard": {"requests.nvidia.com/gpu": "16", "count/pods": "8"},
                 "used": {"requests.nvidia.com/gpu": "10"}}})",
                                                 "quota")
                                    .value());
  ASSERT_EQ(limits.size(), 2U);
  EXPECT_EQ(limits[0].quota(), "team");
  EXPECT_EQ(limits[0].resource(), "requests.nvidia.com/gpu");
  EXPECT_EQ(limits[0].hard(), "16");
  EXPECT_EQ(limits[0].used(), "10");
  EXPECT_EQ(limits[1].used(), "");
}

TEST(CapacityMethods, AQuotaThatNobodyCountedYetHasNone) {
  for (const char* text : {R"({"metadata": {"name": "new"}, "spec": {"hard": {"pods": "1"}}})",
                           R"({"status": {"hard": ["pods"]}})"})
    EXPECT_TRUE(limits_of(kube::parse_json(text, "quota").value()).empty()) << text;
}

}  // namespace
}  // namespace caravan::service
