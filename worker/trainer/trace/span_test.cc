#include "worker/trainer/trace/span.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace caravan::trainer {
namespace {

using ::testing::ElementsAre;

std::vector<std::string_view> names_of(const SpanTrace& trace) {
  std::vector<std::string_view> names;
  for (const Span& span : trace.spans) names.push_back(span.name);
  return names;
}

TEST(Span, LiesWithinTheOneAroundIt) {
  SpanTrace trace;
  {
    const SpanRecording recording(trace);
    const TraceSpan step(SpanKind::Step, "step");
    { const KernelSpan first("first"); }
    { const TraceSpan second(SpanKind::Communication, "all_reduce", "tensor", 64, 3); }
  }
  ASSERT_THAT(names_of(trace), ElementsAre("step", "first", "all_reduce"));
  const Span& step = trace.spans[0];
  for (const Span& inner : {trace.spans[1], trace.spans[2]}) {
    EXPECT_LE(step.begin, inner.begin);
    EXPECT_LE(inner.begin, inner.end);
    EXPECT_LE(inner.end, step.end);
  }
  EXPECT_LE(trace.spans[1].end, trace.spans[2].begin);
  EXPECT_EQ(trace.spans[1].kind, SpanKind::Kernel);
  EXPECT_EQ(trace.spans[2].axis, "tensor");
  EXPECT_EQ(trace.spans[2].bytes, 64);
  EXPECT_EQ(trace.spans[2].peer, 3);
  EXPECT_EQ(trace.dropped, 0);
}

TEST(Span, IsNotedWhileARecordingIsOpenOnItsThreadAlone) {
  SpanTrace trace;
  { const KernelSpan before("before"); }
  {
    const SpanRecording recording(trace);
    std::jthread([] { const KernelSpan other("of another thread"); }).join();
    const KernelSpan within("within");
  }
  { const KernelSpan behind("behind"); }
  EXPECT_THAT(names_of(trace), ElementsAre("within"));
}

TEST(Span, EndsWithAnExceptionToo) {
  SpanTrace trace;
  try {
    const SpanRecording recording(trace);
    const KernelSpan failing("failing");
    throw std::runtime_error("fails");
  } catch (const std::runtime_error&) {
  }
  { const KernelSpan behind("behind"); }
  ASSERT_THAT(names_of(trace), ElementsAre("failing"));
  EXPECT_GE(trace.spans[0].end, trace.spans[0].begin);
}

TEST(Span, OfAnotherThreadIsKeptBesideThoseOfThisOne) {
  SpanTrace trace;
  note_beside({.name = "before"});
  {
    const SpanRecording recording(trace, /*most=*/2);
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
    const SpanRecording recording(trace, /*most=*/2);
    const TraceSpan step(SpanKind::Step, "step");
    for (int i = 0; i < 5; ++i) const KernelSpan kernel("kernel");
  }
  EXPECT_THAT(names_of(trace), ElementsAre("step", "kernel"));
  EXPECT_EQ(trace.dropped, 4);
  EXPECT_GE(trace.spans[0].end, trace.spans[1].end) << "those that were kept have ended";
}

}  // namespace
}  // namespace caravan::trainer
