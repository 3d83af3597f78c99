#include "worker/trainer/trace/span.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "common/testing/manual_clock.h"
#include "worker/trainer/trace/testing/scripted_device.h"

namespace caravan::trainer {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

const SystemClock kHost;
const TraceClock kHostClock(kHost);

std::vector<std::string_view> names_of(const SpanTrace& trace) {
  std::vector<std::string_view> names;
  for (const Span& span : trace.spans) names.push_back(span.name);
  return names;
}

TEST(Span, LiesWithinTheOneAroundIt) {
  SpanTrace trace;
  {
    const SpanRecording recording(trace, kHostClock);
    const TraceSpan step(SpanKind::Step, "step");
    { const KernelSpan first("first"); }
    { const TraceSpan second(SpanKind::Communication, "all_reduce", "tensor", 64, 3); }
  }
  ASSERT_THAT(names_of(trace), ElementsAre("step", "first", "all_reduce"));
  const Span& step = trace.spans[0];
  for (const Span& inner : {trace.spans[1], trace.spans[2]}) {
    EXPECT_LE(step.begin.host, inner.begin.host);
    EXPECT_LE(inner.begin.host, inner.end.host);
    EXPECT_LE(inner.end.host, step.end.host);
  }
  EXPECT_LE(trace.spans[1].end.host, trace.spans[2].begin.host);
  EXPECT_EQ(trace.spans[1].kind, SpanKind::Kernel);
  EXPECT_EQ(trace.spans[2].axis, "tensor");
  EXPECT_EQ(trace.spans[2].bytes, 64);
  EXPECT_EQ(trace.spans[2].peer, 3);
  EXPECT_EQ(trace.dropped, 0);
}

TEST(Span, HasTheHostsTimesWhereTheHostDoesTheWork) {
  caravan::testing::ManualClock host;
  const TraceClock clock(host);
  SpanTrace trace;
  {
    const SpanRecording recording(trace, clock);
    const KernelSpan kernel("kernel");
    host.advance(milliseconds(3));
  }
  EXPECT_EQ(clock.time_of(trace.spans[0].begin), host.kStart);
  EXPECT_EQ(clock.time_of(trace.spans[0].end), host.kStart + milliseconds(3));
}

// The host is done with launching before the device has begun.
TEST(Span, OfADeviceHasTheTimesOfItsWorkAndWaitsForNone) {
  caravan::testing::ManualClock host;
  ScriptedDevice device;
  const TraceClock clock(host, &device);
  const int waits = device.waits;
  SpanTrace trace;
  {
    const SpanRecording recording(trace, clock);
    const TraceSpan step(SpanKind::Step, "step");
    device.work(0.001);
    {
      const KernelSpan kernel("kernel");
      host.advance(std::chrono::microseconds(4));
      device.work(0.020);
    }
    note_beside({.name = "beside", .begin = {.host = host.now()}, .end = {.host = host.now()}});
  }
  EXPECT_EQ(device.waits, waits);
  ASSERT_THAT(names_of(trace), ElementsAre("step", "kernel"));
  EXPECT_EQ(clock.time_of(trace.spans[0].begin), host.kStart);
  EXPECT_EQ(clock.time_of(trace.spans[1].begin), host.kStart + milliseconds(1));
  EXPECT_EQ(clock.time_of(trace.spans[1].end), host.kStart + milliseconds(21));
  EXPECT_EQ(clock.time_of(trace.spans[0].end), host.kStart + milliseconds(21));
  EXPECT_EQ(clock.time_of(trace.beside[0].end), host.now()) << "other threads work on the host";
}

TEST(Span, IsNotedWhileARecordingIsOpenOnItsThreadAlone) {
  SpanTrace trace;
  { const KernelSpan before("before"); }
  {
    const SpanRecording recording(trace, kHostClock);
    std::jthread([] { const KernelSpan other("of another thread"); }).join();
    const KernelSpan within("within");
  }
  { const KernelSpan behind("behind"); }
  EXPECT_THAT(names_of(trace), ElementsAre("within"));
}

TEST(Span, EndsWithAnExceptionToo) {
  SpanTrace trace;
  try {
    const SpanRecording recording(trace, kHostClock);
    const KernelSpan failing("failing");
    throw std::runtime_error("fails");
  } catch (const std::runtime_error&) {
  }
  { const KernelSpan behind("behind"); }
  ASSERT_THAT(names_of(trace), ElementsAre("failing"));
  EXPECT_GE(trace.spans[0].end.host, trace.spans[0].begin.host);
}

TEST(Span, OfAnotherThreadIsKeptBesideThoseOfThisOne) {
  SpanTrace trace;
  note_beside({.name = "before"});
  {
    const SpanRecording recording(trace, kHostClock, /*most=*/2);
    const KernelSpan own("own");
    note_beside({.kind = SpanKind::Communication, .name = "reduce_scatter", .axis = "data", .bytes = 8});
    note_beside({.name = "beyond the limit"});
  }
  EXPECT_THAT(names_of(trace), ElementsAre("own"));
  ASSERT_EQ(trace.beside.size(), 1u);
  EXPECT_EQ(trace.beside[0].name, "reduce_scatter");
  EXPECT_EQ(trace.dropped, 1);
}

TEST(Span, BeyondTheLimitIsCountedAndNotKept) {
  SpanTrace trace;
  {
    const SpanRecording recording(trace, kHostClock, /*most=*/2);
    const TraceSpan step(SpanKind::Step, "step");
    for (int i = 0; i < 5; ++i) const KernelSpan kernel("kernel");
  }
  EXPECT_THAT(names_of(trace), ElementsAre("step", "kernel"));
  EXPECT_EQ(trace.dropped, 4);
  EXPECT_GE(trace.spans[0].end.host, trace.spans[1].end.host) << "those that were kept have ended";
}

}  // namespace
}  // namespace caravan::trainer
