#include "worker/agent/gpu_monitor.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace caravan::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(GpuMonitor, TellsOfEachDeviceWhatTheDriverTells) {
  auto monitor = GpuMonitor::open(CARAVAN_MANAGEMENT_LIBRARY);
  ASSERT_TRUE(monitor) << monitor.error().message;
  const std::vector<GpuState> states = monitor->read();
  ASSERT_EQ(states.size(), 2U);
  EXPECT_EQ(states[0].processor_clock_hertz, 1.755e9);
  EXPECT_EQ(states[0].memory_clock_hertz, 2.619e9);
  EXPECT_DOUBLE_EQ(states[0].power_watts.value(), 698.5);
  EXPECT_DOUBLE_EQ(states[0].power_limit_watts.value(), 700);
  EXPECT_EQ(states[0].temperature_celsius, 61);
  EXPECT_EQ(states[0].throttle_reasons, 0x4);
  EXPECT_EQ(states[1].index, 1U);
  EXPECT_EQ(states[1].temperature_celsius, 61);
  EXPECT_FALSE(states[1].processor_clock_hertz);
  EXPECT_FALSE(states[1].throttle_reasons);
}

TEST(GpuMonitor, TellsOfThoseThatCudaSeesAlone) {
  using Names = std::vector<std::string>;
  struct Case {
    Names visible;
    std::vector<unsigned> told;
  };
  for (const Case& c : {Case{{"1"}, {1}}, Case{{"1", "0"}, {0, 1}}, Case{{"GPU-8932"}, {0}},
                        Case{{"GPU-0a1b2c3d-4e5f"}, {1}}, Case{{"MIG-a1"}, {0, 1}}, Case{{}, {}}}) {
    auto monitor = GpuMonitor::open(CARAVAN_MANAGEMENT_LIBRARY, c.visible);
    ASSERT_TRUE(monitor) << monitor.error().message;
    std::vector<unsigned> told;
    for (const GpuState& state : monitor->read()) told.push_back(state.index);
    EXPECT_EQ(told, c.told) << ::testing::PrintToString(c.visible);
  }
}

TEST(GpuMonitor, LeavesOutWhatTheDriverHasNoFunctionFor) {
  auto monitor = GpuMonitor::open(CARAVAN_SMALL_MANAGEMENT_LIBRARY);
  ASSERT_TRUE(monitor) << monitor.error().message;
  const std::vector<GpuState> states = monitor->read();
  ASSERT_EQ(states.size(), 2U);
  for (const GpuState& state : states) {
    EXPECT_EQ(state.temperature_celsius, 61);
    EXPECT_FALSE(state.processor_clock_hertz || state.memory_clock_hertz);
    EXPECT_FALSE(state.power_watts || state.power_limit_watts);
    EXPECT_FALSE(state.throttle_reasons);
  }
}

TEST(GpuMonitor, SaysWhatIsMissing) {
  const auto absent = GpuMonitor::open("libcaravan-has-no-such-library.so.1");
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().message, HasSubstr("libcaravan-has-no-such-library.so.1 cannot be opened"));
  const auto other = GpuMonitor::open("libc.so.6");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, "libc.so.6: it has no function nvmlInit_v2");
  setenv("MANAGEMENT_LIBRARY_FAILS", "1", /*overwrite=*/1);
  const auto unloaded = GpuMonitor::open(CARAVAN_MANAGEMENT_LIBRARY);
  unsetenv("MANAGEMENT_LIBRARY_FAILS");
  ASSERT_FALSE(unloaded);
  EXPECT_THAT(unloaded.error().message, HasSubstr("Driver Not Loaded"));
}

}  // namespace
}  // namespace caravan::agent
