#include "worker/trainer/loop/phase_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "worker/trainer/trace/testing/scripted_device.h"

namespace caravan::trainer {
namespace {

double of(const PhaseClock::Seconds& seconds, Phase phase) {
  return seconds[static_cast<std::size_t>(phase)];
}

TEST(PhaseClock, ADevicesPhasesAreThoseOfItsWork) {
  ActivityBoard board;
  ScriptedDevice device;
  PhaseClock clock(board, &device);
  clock.begin_steps();
  clock.take();
  {
    const PhaseClock::Scope forward(clock, Phase::kForward);
    device.work(3);
    {
      const PhaseClock::Scope wait(clock, Wait{"all_gather", "tensor"});
      device.work(0.5);
    }
    device.work(1);
  }
  device.work(0.25);
  clock.caught_up();
  const PhaseClock::Seconds seconds = clock.take();
  EXPECT_DOUBLE_EQ(of(seconds, Phase::kForward), 4);
  EXPECT_DOUBLE_EQ(of(seconds, Phase::kCommunication), 0.5);
  EXPECT_DOUBLE_EQ(of(seconds, Phase::kIdle), 0.25);
  EXPECT_DOUBLE_EQ(of(clock.take(), Phase::kForward), 0);
}

TEST(PhaseClock, WhatCameBeforeTheStepsIsOfNone) {
  ActivityBoard board;
  ScriptedDevice device;
  PhaseClock clock(board, &device);
  std::vector<double> told;
  const auto restore = [&] {
    PhaseClock::Scope scope(clock, Wait{"broadcast", "data"});
    scope.tell([&](double seconds) { told.push_back(seconds); });
    device.work(7);
  };
  restore();
  clock.caught_up();
  restore();
  clock.begin_steps();
  clock.take();
  device.work(1);
  clock.caught_up();
  const PhaseClock::Seconds seconds = clock.take();
  EXPECT_DOUBLE_EQ(of(seconds, Phase::kCommunication), 0);
  EXPECT_DOUBLE_EQ(of(seconds, Phase::kIdle), 1);
  EXPECT_THAT(told, testing::IsEmpty());
}

TEST(PhaseClock, WhatADeviceHasYetToComeToIsToldBehindTheNextTimeItIsRead) {
  ActivityBoard board;
  ScriptedDevice device;
  PhaseClock clock(board, &device);
  std::vector<double> told;
  {
    PhaseClock::Scope wait(clock, Wait{"send", "pipeline"});
    device.work(2);
    wait.tell([&](double seconds) { told.push_back(seconds); });
  }
  EXPECT_DOUBLE_EQ(of(clock.take(), Phase::kCommunication), 0);
  EXPECT_EQ(device.waits, 0);
  EXPECT_THAT(told, testing::IsEmpty());
  clock.caught_up();
  {
    const PhaseClock::Scope update(clock, Phase::kOptimizer);
    device.work(5);
  }
  const PhaseClock::Seconds first = clock.take();
  EXPECT_THAT(told, testing::ElementsAre(testing::DoubleEq(2)));
  EXPECT_DOUBLE_EQ(of(first, Phase::kCommunication), 2);
  EXPECT_DOUBLE_EQ(of(first, Phase::kOptimizer), 0);
  clock.caught_up();
  EXPECT_DOUBLE_EQ(of(clock.take(), Phase::kOptimizer), 5);
  EXPECT_EQ(told.size(), 1U);
}

TEST(PhaseClock, TheHostsScopesAreToldAtTheirEnd) {
  ActivityBoard board;
  PhaseClock clock(board);
  std::vector<double> told;
  {
    PhaseClock::Scope scope(clock, Phase::kData);
    scope.tell([&](double seconds) { told.push_back(seconds); });
    EXPECT_THAT(told, testing::IsEmpty());
  }
  ASSERT_EQ(told.size(), 1U);
  EXPECT_DOUBLE_EQ(of(clock.take(), Phase::kData), told.front());
}

TEST(PhaseClock, TheBoardShowsWhoIsWaitedFor) {
  ActivityBoard board;
  PhaseClock clock(board);
  const PhaseClock::Scope wait(clock, Wait{.operation = "recv", .axis = "pipeline", .peer = 3});
  EXPECT_EQ(board.shown().phase, "communication");
  EXPECT_EQ(board.shown().operation, "recv");
  EXPECT_EQ(board.shown().peer, 3);
}

}  // namespace
}  // namespace caravan::trainer
