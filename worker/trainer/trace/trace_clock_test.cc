#include "worker/trainer/trace/trace_clock.h"

#include <gtest/gtest.h>

#include "common/testing/manual_clock.h"
#include "worker/trainer/trace/testing/scripted_device.h"

namespace caravan::trainer {
namespace {

using caravan::testing::ManualClock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(TraceClock, HasTheHostsTimesWhereTheHostDoesTheWork) {
  ManualClock host;
  const TraceClock clock(host);
  host.advance(milliseconds(5));
  const Moment moment = clock.now();
  host.advance(milliseconds(2));
  EXPECT_EQ(clock.time_of(moment), ManualClock::kStart + milliseconds(5));
}

TEST(TraceClock, HasTheTimesAtWhichADeviceComesToItsMarks) {
  ManualClock host;
  ScriptedDevice device;
  device.work(7);  // before the clock
  const TraceClock clock(host, &device);
  const Moment begin = clock.now();
  host.advance(milliseconds(1));
  device.work(0.25);
  const Moment end = clock.now();
  EXPECT_EQ(clock.time_of(begin), ManualClock::kStart);
  EXPECT_EQ(clock.time_of(end), ManualClock::kStart + milliseconds(250));
}

// The wait moves the host's clock, as a device does that has yet to come to the mark.
TEST(TraceClock, ReadsTheHostsTimeOnceTheDeviceHasCaughtUp) {
  struct BusyDevice final : public DeviceMarks {
    std::shared_ptr<const DeviceMark> mark() override { return std::make_shared<DeviceMark>(); }
    double seconds_between(const DeviceMark& /*first*/, const DeviceMark& /*second*/) override {
      host.advance(milliseconds(40));
      return 0;
    }
    ManualClock host;
  };
  BusyDevice device;
  const TraceClock clock(device.host, &device);
  EXPECT_EQ(clock.time_of(clock.now()), ManualClock::kStart + milliseconds(40));
}

TEST(TraceClock, WaitsForTheDeviceAsItIsMadeAndWhenItIsAskedForATime) {
  ManualClock host;
  ScriptedDevice device;
  const TraceClock clock(host, &device);
  EXPECT_EQ(device.waits, 1);
  const Moment moment = clock.now();
  EXPECT_EQ(device.waits, 1);
  (void)clock.time_of(moment);
  EXPECT_EQ(device.waits, 2);
}

TEST(TraceClock, TellsAMomentOfTheHostAsItIs) {
  ManualClock host;
  ScriptedDevice device;
  const TraceClock clock(host, &device);
  device.work(3);
  EXPECT_EQ(clock.time_of({.host = ManualClock::kStart + milliseconds(9)}),
            ManualClock::kStart + milliseconds(9));
  EXPECT_EQ(device.waits, 1);
}

// Also where a piece of work is shorter than what the clock counts.
TEST(TraceClock, KeepsMomentsInTheirOrder) {
  ManualClock host;
  ScriptedDevice device;
  const TraceClock clock(host, &device);
  Clock::TimePoint before = clock.time_of(clock.now());
  for (int i = 0; i < 1000; ++i) {
    device.work(0.3e-9);
    const Clock::TimePoint now = clock.time_of(clock.now());
    ASSERT_LE(before, now);
    before = now;
  }
  EXPECT_EQ(before, ManualClock::kStart + nanoseconds(300));
}

}  // namespace
}  // namespace caravan::trainer
