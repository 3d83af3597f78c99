#include "planner/device/own_devices.h"

#include <gmock/gmock.h>

#include "planner/request.h"
#include "planner/testing/jobs.h"

namespace caravan::planner {
namespace {

using testing::HasSubstr;

v1alpha1::DeviceEntry new_product() {
  v1alpha1::DeviceEntry entry;
  entry.set_name("Z900");
  entry.set_memory("96Gi");
  entry.set_peak_teraflops("500");
  entry.set_memory_gigabytes_per_second("4000");
  entry.set_node_gigabytes_per_second("200");
  entry.set_network_gigabytes_per_second("12.5");
  return entry;
}

TEST(OwnDevices, ANewProductHasTheEntrysNumbersAndUsualOnesForTheRest) {
  const auto device = read_device(new_product());
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(device->memory_bytes, int64_t{96} << 30);
  EXPECT_EQ(device->peak_flops, 500e12);
  EXPECT_EQ(device->matrix_flops, 400e12);
  EXPECT_EQ(device->fp32_flops, 25e12);
  EXPECT_EQ(device->network_bandwidth, 12.5e9);
  EXPECT_EQ(device->devices_per_node, 8);
  EXPECT_EQ(device->link_domain, 8);
}

TEST(OwnDevices, AKnownProductKeepsWhatTheEntryLeavesOut) {
  v1alpha1::DeviceEntry entry;
  entry.set_name("H100-80GB");
  entry.set_network_gigabytes_per_second("25");
  entry.set_devices_per_node(4);
  const auto device = read_device(entry);
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(device->network_bandwidth, 25e9);
  EXPECT_EQ(device->node_bandwidth, 450e9);
  EXPECT_EQ(device->matrix_flops, find_device("H100-80GB")->matrix_flops);
  EXPECT_EQ(device->link_domain, 4);
  EXPECT_TRUE(find_device("NVIDIA-H100-80GB-HBM3", {*device}));
}

TEST(OwnDevices, AProcessorsNodesHaveAsManyAsItsEntrySays) {
  v1alpha1::DeviceEntry entry = new_product();
  entry.set_devices_per_node(4);
  v1alpha1::JobSpec job = cpu_job("llama-mini", 8);
  job.mutable_resources()->mutable_device()->set_product(entry.name());
  const auto request = read_request(job, {.own_products = {*read_device(entry)}});
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->devices.node_size, 4);
}

TEST(OwnDevices, AKnownProductKeepsItsRacksSwitch) {
  v1alpha1::DeviceEntry entry;
  entry.set_name("GB200");
  entry.set_devices_per_node(4);
  const auto device = read_device(entry);
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(device->link_domain, 72);
}

TEST(OwnDevices, ALowerPeakLowersTheRatesOfProductsWithIt) {
  v1alpha1::DeviceEntry entry;
  entry.set_name("A100-80GB");
  entry.set_peak_teraflops("156");
  EXPECT_DOUBLE_EQ(read_device(entry)->matrix_flops, 271.2e12 / 2);
  EXPECT_DOUBLE_EQ(read_device(entry)->fp32_flops, 19.5e12 / 2);
}

TEST(OwnDevices, AMeasuredRateOfBf16ProductsLeavesThatOfFp32OnesOfAKnownProduct) {
  v1alpha1::DeviceEntry entry;
  entry.set_name("A100-80GB");
  entry.set_matrix_teraflops("200");
  EXPECT_DOUBLE_EQ(read_device(entry)->matrix_flops, 200e12);
  EXPECT_DOUBLE_EQ(read_device(entry)->fp32_flops, 19.5e12);
  v1alpha1::DeviceEntry unknown = new_product();
  unknown.set_matrix_teraflops("320");
  EXPECT_DOUBLE_EQ(read_device(unknown)->fp32_flops, 20e12);
}

TEST(OwnDevices, AMistakeNamesItsField) {
  v1alpha1::DeviceEntry lacking = new_product();
  lacking.clear_node_gigabytes_per_second();
  v1alpha1::DeviceEntry too_fast = new_product();
  too_fast.set_matrix_teraflops("501");
  v1alpha1::DeviceEntry narrow = new_product();
  narrow.set_link_domain(4);
  v1alpha1::DeviceEntry empty = new_product();
  empty.set_memory("0");
  const std::pair<v1alpha1::DeviceEntry, const char*> cases[] = {
      {lacking, "nodeGigabytesPerSecond: is needed, since Z900"},
      {too_fast, "matrixTeraflops: must be at most peakTeraflops"},
      {narrow, "linkDomain: must be at least devicesPerNode"},
      {empty, "memory: must be more than 0"}};
  for (const auto& [entry, message] : cases) {
    const auto device = read_device(entry);
    ASSERT_FALSE(device);
    EXPECT_THAT(device.error().message, HasSubstr(message));
  }
}

}  // namespace
}  // namespace caravan::planner
