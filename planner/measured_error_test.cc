#include "planner/measured_error.h"

#include <gtest/gtest.h>

#include "planner/device/catalogue.h"

namespace caravan::planner {
namespace {

EngineProfile measured_on_one_h200() {
  EngineProfile profile;
  profile.memory_error = 0.005;
  profile.step_time_error = 0.02;
  profile.cpu_memory_error = 0.01;
  profile.measured_product = "H200";
  profile.measured_devices = 1;
  return profile;
}

DevicePool gpus(const char* product, int count) {
  DevicePool devices;
  devices.count = count;
  devices.known = DeviceProduct{};
  devices.known->name = product;
  return devices;
}

TEST(MeasuredError, IsThatOfTheDevicesThatWereMeasured) {
  const EngineProfile profile = measured_on_one_h200();
  EXPECT_EQ(memory_error(gpus("H200", 1), profile), 0.005);
  EXPECT_EQ(step_time_error(gpus("H200", 1), profile), 0.02);
}

TEST(MeasuredError, OfOurTrainerIsOfADeviceThatTheCatalogueHas) {
  const EngineProfile profile = default_engine_profile();
  ASSERT_TRUE(find_device(profile.measured_product)) << profile.measured_product;
  EXPECT_TRUE(memory_error(gpus(profile.measured_product.c_str(), 1), profile));
  EXPECT_TRUE(step_time_error(gpus(profile.measured_product.c_str(), 1), profile));
}

TEST(MeasuredError, IsNotKnownOfOtherDevicesNorOfMore) {
  const EngineProfile profile = measured_on_one_h200();
  for (const DevicePool& devices : {gpus("H100-80GB", 1), gpus("H200", 2), DevicePool{}}) {
    EXPECT_EQ(memory_error(devices, profile), std::nullopt);
    EXPECT_EQ(step_time_error(devices, profile), std::nullopt);
  }
}

TEST(MeasuredError, OfGpusIsNotKnownOfFp32) {
  const EngineProfile profile = measured_on_one_h200();
  const TrainingNumbers fp32{.bf16 = false};
  EXPECT_EQ(memory_error(gpus("H200", 1), profile, fp32), std::nullopt);
  EXPECT_EQ(step_time_error(gpus("H200", 1), profile, fp32), std::nullopt);
}

TEST(MeasuredError, HoldsForAllGpusWhereAProfileNamesNone) {
  EngineProfile profile = measured_on_one_h200();
  profile.measured_product.clear();
  profile.measured_devices = 0;
  EXPECT_EQ(memory_error(gpus("A100-80GB", 512), profile), 0.005);
  EXPECT_EQ(step_time_error(gpus("A100-80GB", 512), profile), 0.02);
}

TEST(MeasuredError, OfProcessorsIsTheirOwn) {
  DevicePool processors;
  processors.gpu = false;
  EXPECT_EQ(memory_error(processors, measured_on_one_h200()), 0.01);
  EXPECT_EQ(step_time_error(processors, measured_on_one_h200()), std::nullopt);
}

}  // namespace
}  // namespace caravan::planner
