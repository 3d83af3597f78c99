#include "planner/device/catalogue.h"

#include <gtest/gtest.h>

namespace caravan::planner {
namespace {

TEST(DeviceCatalogue, FindsAProductByNameAndByNodeLabel) {
  for (const char* name : {"H100-80GB", "h100-80gb", "NVIDIA-H100-80GB-HBM3", "NVIDIA H100 80GB HBM3"}) {
    const auto device = find_device(name);
    ASSERT_TRUE(device) << name;
    EXPECT_EQ(device->name, "H100-80GB");
    EXPECT_EQ(device->peak_flops, 989e12);
  }
  EXPECT_EQ(find_device("NVIDIA-A100-SXM4-80GB")->peak_flops, 312e12);
}

TEST(DeviceCatalogue, DoesNotGuess) {
  EXPECT_FALSE(find_device(""));
  EXPECT_FALSE(find_device("Z900"));
}

TEST(DeviceCatalogue, EveryListedNameIsFound) {
  for (const std::string& name : device_names()) EXPECT_TRUE(find_device(name)) << name;
}

}  // namespace
}  // namespace caravan::planner
