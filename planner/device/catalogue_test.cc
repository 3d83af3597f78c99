#include "planner/device/catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace caravan::planner {
namespace {

TEST(DeviceCatalogue, FindsAProductByNameAndByNodeLabel) {
  for (const char* name : {"H100-80GB", "h100-80gb", "NVIDIA-H100-80GB-HBM3", "NVIDIA H100 80GB HBM3"}) {
    const auto device = find_device(name);
    ASSERT_TRUE(device) << name;
    EXPECT_EQ(device->name, "H100-80GB");
    EXPECT_EQ(device->peak_flops, 989e12);
  }
  const std::pair<const char*, const char*> labels[] = {{"NVIDIA-A100-SXM4-80GB", "A100-80GB"},
                                                        {"NVIDIA-A100-SXM4-40GB", "A100-40GB"},
                                                        {"NVIDIA-A100-PCIE-40GB", "A100-PCIe-40GB"},
                                                        {"NVIDIA-A100-80GB-PCIe", "A100-PCIe-80GB"},
                                                        {"NVIDIA-H100-PCIe", "H100-PCIe"},
                                                        {"NVIDIA-H100-NVL", "H100-NVL"},
                                                        {"NVIDIA-H200", "H200"},
                                                        {"NVIDIA-GB200", "GB200"},
                                                        {"NVIDIA-L40S", "L40S"},
                                                        {"AMD_Instinct_MI250X", "MI250X"},
                                                        {"AMD_Instinct_MI300X_OAM", "MI300X"},
                                                        {"AMD Instinct MI300X VF", "MI300X"}};
  for (const auto& [label, name] : labels) {
    const auto device = find_device(label);
    ASSERT_TRUE(device) << label;
    EXPECT_EQ(device->name, name);
  }
}

TEST(DeviceCatalogue, DoesNotGuess) {
  for (const char* name : {"", "Z900", "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", "NVIDIA-L40S-SHARED"})
    EXPECT_FALSE(find_device(name)) << name;
}

TEST(DeviceCatalogue, EveryListedNameIsFoundUnderItself) {
  for (const std::string& name : device_names()) {
    ASSERT_TRUE(find_device(name)) << name;
    EXPECT_EQ(find_device(name)->name, name);
  }
}

// As the programs of the vendors write them, letter for letter.
TEST(DeviceCatalogue, ProductsListTheValuesOfNodeLabels) {
  for (const char* label :
       {"NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-PCIE-40GB", "NVIDIA-A100-80GB-PCIe", "NVIDIA-H100-80GB-HBM3",
        "NVIDIA-H100-PCIe", "NVIDIA-H200", "NVIDIA-B200", "NVIDIA-B300-SXM6-AC", "NVIDIA-GB200",
        "NVIDIA-L40S", "AMD_Instinct_MI250X", "AMD_Instinct_MI300X_OAM", "AMD_Instinct_MI300X_VF"}) {
    const auto device = find_device(label);
    ASSERT_TRUE(device) << label;
    EXPECT_EQ(std::ranges::count(device->labels, label), 1) << label;
  }
  for (const std::string& name : device_names()) {
    const DeviceProduct device = *find_device(name);
    for (const std::string& label : device.labels) EXPECT_EQ(find_device(label)->name, name) << label;
  }
}

TEST(DeviceCatalogue, ProductsSayWhatTheirVendorOffersThemAs) {
  EXPECT_EQ(find_device("NVIDIA-H100-80GB-HBM3")->resource_name, "nvidia.com/gpu");
  EXPECT_EQ(find_device("AMD_Instinct_MI300X_OAM")->resource_name, "amd.com/gpu");
  for (const std::string& name : device_names()) EXPECT_NE(find_device(name)->resource_name, "") << name;
}

TEST(DeviceCatalogue, NoProductContradictsItself) {
  for (const std::string& name : device_names()) {
    const DeviceProduct device = *find_device(name);
    EXPECT_GT(device.matrix_flops, 0.5 * device.peak_flops) << name;
    EXPECT_LT(device.matrix_flops, device.peak_flops) << name;
    EXPECT_GT(device.fp32_flops, 0) << name;
    EXPECT_LT(device.fp32_flops, device.matrix_flops) << name;
    EXPECT_GT(device.memory_bandwidth, device.node_bandwidth) << name;
    EXPECT_GT(device.node_bandwidth, device.network_bandwidth) << name;
    EXPECT_GE(device.link_domain, device.devices_per_node) << name;
    EXPECT_GT(device.memory_bytes, int64_t{20} << 30) << name;
  }
}

TEST(DeviceCatalogue, TheUsersOwnProductsComeFirst) {
  const std::vector<DeviceProduct> own = {{.name = "H100-80GB", .peak_flops = 1e12},
                                          {.name = "Z900", .labels = {"Maker-Z900"}}};
  EXPECT_EQ(find_device("H100-80GB", own)->peak_flops, 1e12);
  EXPECT_EQ(find_device("maker_z900", own)->name, "Z900");
  EXPECT_EQ(find_device("A100-80GB", own)->peak_flops, 312e12);
  EXPECT_EQ(device_names(own).size(), device_names().size() + 1);
  EXPECT_EQ(device_names(own).front(), "H100-80GB");
}

}  // namespace
}  // namespace caravan::planner
