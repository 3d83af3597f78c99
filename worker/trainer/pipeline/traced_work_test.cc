#include "worker/trainer/pipeline/traced_work.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <thread>

#include "common/testing/manual_clock.h"
#include "planner/schedule/generate.h"
#include "worker/trainer/comm/testing/fake_communicator.h"
#include "worker/trainer/pipeline/executor.h"
#include "worker/trainer/trace/testing/scripted_device.h"

namespace caravan::trainer {
namespace {

using planner::Op;
using planner::OpType;
using std::chrono::milliseconds;

constexpr Op kForward{.type = OpType::Forward, .micro_batch = 3};
constexpr Op kBackward{.type = OpType::Backward, .micro_batch = 3};

// Takes as long as it is told on a clock that it moves.
class SlowWork final : public StageWork {
 public:
  SlowWork(caravan::testing::ManualClock& clock, milliseconds takes) : clock_(clock), takes_(takes) {}

  at::Tensor boundary_buffer(const Op&) const override { return at::empty({2}); }
  at::Tensor run(const Op&, at::Tensor) override {
    clock_.advance(takes_);
    return at::empty({2});
  }

 private:
  caravan::testing::ManualClock& clock_;
  const milliseconds takes_;
};

TEST(TracedWork, NotesWhenEachOpRanAndHowLongItsInputWasWaitedFor) {
  caravan::testing::ManualClock clock;
  SlowWork work(clock, milliseconds(7));
  OpTrace trace;
  const TraceClock trace_clock(clock);
  TracedWork traced(work, trace_clock, trace);
  const auto start = clock.now();

  EXPECT_EQ(traced.run(kForward, {}).numel(), 2) << "what the work made";
  EXPECT_EQ(traced.boundary_buffer(kBackward).numel(), 2);
  clock.advance(milliseconds(5));
  traced.run(kBackward, {});

  ASSERT_EQ(trace.ops.size(), 2U);
  EXPECT_EQ(trace.ops[0].op, kForward);
  EXPECT_EQ(trace.ops[0].begin.host, start);
  EXPECT_EQ(trace.ops[0].end.host, start + milliseconds(7));
  EXPECT_EQ(trace.ops[1].op, kBackward);
  EXPECT_EQ(trace.ops[1].begin.host, start + milliseconds(12));
  EXPECT_EQ(trace.ops[1].end.host, start + milliseconds(19));
  ASSERT_EQ(trace.waits.size(), 1U) << "the forward got nothing";
  EXPECT_EQ(trace.waits[0].op, kBackward);
  EXPECT_EQ(trace.waits[0].begin.host, start + milliseconds(7));
  EXPECT_EQ(trace.waits[0].end.host, start + milliseconds(12));
}

TEST(TracedWork, CountsNoWaitWhileTheOpBeforeRuns) {
  caravan::testing::ManualClock clock;
  SlowWork work(clock, milliseconds(7));
  OpTrace trace;
  const TraceClock trace_clock(clock);
  TracedWork traced(work, trace_clock, trace);
  const auto start = clock.now();
  constexpr Op kNext{.type = OpType::Forward, .micro_batch = 4};

  traced.boundary_buffer(kBackward);
  traced.run(kForward, {});
  clock.advance(milliseconds(2));
  traced.boundary_buffer(kNext);
  traced.run(kBackward, {});

  ASSERT_EQ(trace.waits.size(), 2U);
  EXPECT_EQ(trace.waits[0].begin.host, start + milliseconds(7));
  EXPECT_EQ(trace.waits[0].end.host, start + milliseconds(9));
}

// Gives a device what takes as long as it is told, and goes on.
class LaunchedWork final : public StageWork {
 public:
  LaunchedWork(ScriptedDevice& device, double seconds) : device_(device), seconds_(seconds) {}

  at::Tensor boundary_buffer(const Op&) const override { return at::empty({2}); }
  at::Tensor run(const Op&, at::Tensor) override {
    device_.work(seconds_);
    return at::empty({2});
  }

 private:
  ScriptedDevice& device_;
  const double seconds_;
};

TEST(TracedWork, OfADeviceHasTheTimesOfItsWorkAndWaitsForNone) {
  caravan::testing::ManualClock host;
  ScriptedDevice device;
  LaunchedWork work(device, 0.007);
  OpTrace trace;
  const TraceClock clock(host, &device);
  TracedWork traced(work, clock, trace);
  const int waits = device.waits;

  traced.boundary_buffer(kBackward);
  traced.run(kForward, {});
  device.work(0.002);  // until the input has come
  traced.run(kBackward, {});

  EXPECT_EQ(device.waits, waits);
  const auto since_start = [&](const Moment& moment) { return clock.time_of(moment) - host.kStart; };
  ASSERT_EQ(trace.ops.size(), 2U);
  EXPECT_EQ(since_start(trace.ops[0].begin), milliseconds(0));
  EXPECT_EQ(since_start(trace.ops[0].end), milliseconds(7));
  EXPECT_EQ(since_start(trace.ops[1].begin), milliseconds(9));
  EXPECT_EQ(since_start(trace.ops[1].end), milliseconds(16));
  ASSERT_EQ(trace.waits.size(), 1U);
  EXPECT_EQ(since_start(trace.waits[0].begin), milliseconds(7)) << "the op before ran until then";
  EXPECT_EQ(since_start(trace.waits[0].end), milliseconds(9));
}

TEST(TracedWork, AnExecutedListIsTheScheduleWithAWaitForEachMessage) {
  const planner::Schedule schedule = planner::generate_schedule({.stages = 2, .micro_batches = 3});
  std::vector<caravan::testing::ManualClock> clocks(2);
  std::vector<OpTrace> traces(2);
  const auto group = make_fake_group(2);
  std::vector<std::jthread> stages;
  for (int stage = 0; stage < 2; ++stage) {
    stages.emplace_back([&, stage] {
      SlowWork work(clocks[stage], milliseconds(1));
      const TraceClock trace_clock(clocks[stage]);
      TracedWork traced(work, trace_clock, traces[stage]);
      execute(add_transfers(schedule, stage, 1), traced, *group[stage]);
    });
  }
  stages.clear();
  for (int stage = 0; stage < 2; ++stage) {
    std::vector<Op> executed;
    for (const TracedOp& traced : traces[stage].ops) executed.push_back(traced.op);
    EXPECT_EQ(executed, schedule.ops[stage]) << "stage " << stage;
    EXPECT_EQ(traces[stage].waits.size(), 3U) << "stage " << stage;
  }
}

}  // namespace
}  // namespace caravan::trainer
