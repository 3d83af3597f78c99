#include "worker/agent/gpu_monitor.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "common/testing/await.h"
#include "common/testing/temporary_folder.h"
#include "worker/agent/testing/captured_log.h"

namespace caravan::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::chrono::seconds kShortPatience{1};  // with drivers that hang

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

TEST(GpuMonitor, NobodyWaitsLongForADriverThatHangsAtItsStart) {
  const test::TemporaryFolder folder;
  const std::string hangs = folder.write("hangs", "");
  setenv("MANAGEMENT_LIBRARY_HANGS_WITH", hangs.c_str(), /*overwrite=*/1);
  auto monitor = GpuMonitor::open(CARAVAN_MANAGEMENT_LIBRARY, {}, kShortPatience);
  ASSERT_TRUE(monitor) << monitor.error().message;
  EXPECT_THAT(monitor->read(), IsEmpty());
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(monitor->read(), IsEmpty());
  EXPECT_LT(std::chrono::steady_clock::now() - start, kShortPatience) << "it is not asked again";
  std::filesystem::remove(hangs);
  test::await([&] { return monitor->read().size() == 2; });
  unsetenv("MANAGEMENT_LIBRARY_HANGS_WITH");
}

TEST(GpuMonitor, WhatADriverThatHangsToldLastHoldsForAMinute) {
  const test::TemporaryFolder folder;
  const std::string hangs = folder.path() / "hangs";
  setenv("MANAGEMENT_LIBRARY_HANGS_WITH", hangs.c_str(), /*overwrite=*/1);
  auto monitor = GpuMonitor::open(CARAVAN_MANAGEMENT_LIBRARY, {}, kShortPatience);
  ASSERT_TRUE(monitor) << monitor.error().message;
  EXPECT_EQ(monitor->read().size(), 2U);
  folder.write("hangs", "");
  EXPECT_EQ(monitor->read().size(), 2U);
  EXPECT_EQ(monitor->read().size(), 2U) << "at once";
  EXPECT_THAT(monitor->read(std::chrono::steady_clock::now() + std::chrono::minutes(1)), IsEmpty());
  unsetenv("MANAGEMENT_LIBRARY_HANGS_WITH");
  { const GpuMonitor ends_meanwhile = *std::move(monitor); }
}

TEST(GpuMonitor, SaysWhatIsMissing) {
  const auto absent = GpuMonitor::open("libcaravan-has-no-such-library.so.1");
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().message, HasSubstr("libcaravan-has-no-such-library.so.1 cannot be opened"));
  const auto other = GpuMonitor::open("libc.so.6");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, "libc.so.6: it has no function nvmlInit_v2");
  auto unloaded = GpuMonitor::open(CARAVAN_MANAGEMENT_LIBRARY);
  ASSERT_TRUE(unloaded) << unloaded.error().message;
  const testing::CapturedLog log;
  setenv("MANAGEMENT_LIBRARY_FAILS", "1", /*overwrite=*/1);
  for (int time = 0; time < 2; ++time) EXPECT_THAT(unloaded->read(), IsEmpty());
  unsetenv("MANAGEMENT_LIBRARY_FAILS");
  EXPECT_EQ(log.text(), "info the driver of GPUs tells nothing: Driver Not Loaded\n");
}

}  // namespace
}  // namespace caravan::agent
