#include "worker/trainer/loop/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/testing/manual_clock.h"
#include "common/testing/temporary_folder.h"
#include "worker/trainer/trace/testing/scripted_device.h"

namespace caravan::trainer {
namespace {

using planner::OpType;
using planner::ScheduleKind;
using std::chrono::microseconds;
using ::testing::HasSubstr;

constexpr Clock::TimePoint kBegin{std::chrono::hours(1)};
const SystemClock kHost;
const TraceClock kHostClock(kHost);

// Rank 3 of four: the second of a tensor group, on the last of two stages.
TrainerOptions some_options() {
  TrainerOptions options;
  options.job_name = "tiny";
  options.rendezvous.rank = 3;
  options.rendezvous.world_size = 4;
  options.layout.mesh = {.tensor = 2, .pipeline = 2};
  options.layout.schedule = ScheduleKind::ZeroBubbleH1;
  options.data.global_batch_sequences = 4;
  return options;
}

TracedOp traced(OpType type, microseconds from, microseconds to) {
  return {.op = {.type = type, .micro_batch = 1}, .begin = {kBegin + from}, .end = {kBegin + to}};
}

TEST(TraceFile, IsWhatTheTraceViewersRead) {
  StepTrace trace{.step = 7, .clock = kHostClock};
  trace.ops.ops.push_back(traced(OpType::Forward, microseconds(2), microseconds(5)));
  trace.ops.ops.push_back(traced(OpType::BackwardInput, microseconds(5), microseconds(9)));
  trace.ops.waits.push_back(traced(OpType::Forward, microseconds(1), microseconds(2)));
  const std::string args = R"("args":{"microBatch":1,"segment":0,"chunk":0}})";
  EXPECT_EQ(
      trace_json(some_options(), trace),
      R"({"traceEvents":[)"
      R"({"name":"process_name","ph":"M","pid":1,"tid":3,"args":{"name":"stage 1"}},)"
      R"({"name":"process_sort_index","ph":"M","pid":1,"tid":3,"args":{"sort_index":1}},)"
      R"|({"name":"thread_name","ph":"M","pid":1,"tid":3,"args":{"name":"rank 3 (tensor 1, data 0)"}},)|"
      R"({"name":"thread_sort_index","ph":"M","pid":1,"tid":3,"args":{"sort_index":3}},)"
      R"({"name":"wait for F1","cat":"wait","ph":"X","ts":3600000001,"dur":1,"pid":1,"tid":3,)" +
          args + R"(,{"name":"F1","cat":"forward","ph":"X","ts":3600000002,"dur":3,"pid":1,"tid":3,)" + args +
          R"(,{"name":"B1","cat":"backward_input","ph":"X","ts":3600000005,"dur":4,"pid":1,"tid":3,)" + args +
          R"(],"displayTimeUnit":"ms","otherData":{"jobName":"tiny","step":7,"schedule":"ZBH1","stages":2,)"
          R"("microBatches":4,"chunks":1,"segments":1,"order":"Loop","tensor":2,"data":1,"rank":3,)"
          R"("tensorRank":1,"dataRank":0,"stage":1}})");
}

Span span(SpanKind kind, std::string_view name, microseconds from, microseconds to) {
  return {.kind = kind, .name = name, .begin = {kBegin + from}, .end = {kBegin + to}};
}

TEST(TraceFile, HasWhatIsAroundOthersBeforeThem) {
  StepTrace trace{.step = 7, .clock = kHostClock};
  trace.spans.dropped = 2;
  trace.ops.ops.push_back(traced(OpType::Forward, microseconds(2), microseconds(5)));
  trace.spans.spans = {span(SpanKind::Step, "step", microseconds(1), microseconds(9)),
                       span(SpanKind::Product, "linear", microseconds(2), microseconds(3)),
                       span(SpanKind::Attention, "attention", microseconds(3), microseconds(4)),
                       span(SpanKind::Phase, "optimizer", microseconds(5), microseconds(9)),
                       span(SpanKind::Kernel, "adamw", microseconds(5), microseconds(7)),
                       span(SpanKind::Communication, "recv", microseconds(7), microseconds(8))};
  Span& message = trace.spans.spans.back();
  message.axis = "pipeline";
  message.bytes = 64;
  message.peer = 1;
  const std::string json = trace_json(some_options(), trace);
  EXPECT_THAT(json, HasSubstr(R"("droppedEvents":2)"));
  const std::string place = R"(,"pid":1,"tid":3)";
  EXPECT_THAT(
      json, HasSubstr(R"({"name":"step","cat":"step","ph":"X","ts":3600000001,"dur":8)" + place +
                      R"(},{"name":"F1","cat":"forward","ph":"X","ts":3600000002,"dur":3)" + place +
                      R"(,"args":{"microBatch":1,"segment":0,"chunk":0}},)"
                      R"({"name":"linear","cat":"product","ph":"X","ts":3600000002,"dur":1)" +
                      place + R"(},{"name":"attention","cat":"attention","ph":"X","ts":3600000003,"dur":1)" +
                      place + R"(},{"name":"optimizer","cat":"phase","ph":"X","ts":3600000005,"dur":4)" +
                      place + R"(},{"name":"adamw","cat":"kernel","ph":"X","ts":3600000005,"dur":2)" + place +
                      R"(},{"name":"recv","cat":"communication","ph":"X","ts":3600000007,"dur":1)" + place +
                      R"(,"args":{"axis":"pipeline","bytes":64,"peer":1}}])"));
}

TEST(TraceFile, OfADeviceHasTheTimesAtWhichItCameToTheWork) {
  caravan::testing::ManualClock host;
  ScriptedDevice device;
  StepTrace trace{.step = 7, .clock = TraceClock(host, &device)};
  device.work(0.125);
  const Moment begin = trace.clock.now();
  device.work(0.25);
  const Moment end = trace.clock.now();
  trace.ops.ops = {{.op = {.type = OpType::Forward, .micro_batch = 1}, .begin = begin, .end = end}};
  trace.spans.spans = {{.kind = SpanKind::Kernel, .name = "adamw", .begin = begin, .end = end}};
  const std::string json = trace_json(some_options(), trace);
  EXPECT_THAT(json, HasSubstr(R"({"name":"F1","cat":"forward","ph":"X","ts":3155695200125000,"dur":250000)"));
  EXPECT_THAT(json,
              HasSubstr(R"({"name":"adamw","cat":"kernel","ph":"X","ts":3155695200125000,"dur":250000)"));
}

TEST(TraceFile, HasWhatWasBesideTheRanksWorkInARowBehindAllRanks) {
  StepTrace trace{.step = 7, .clock = kHostClock};
  trace.spans.spans = {span(SpanKind::Step, "step", microseconds(1), microseconds(9))};
  trace.spans.beside = {span(SpanKind::Communication, "reduce_scatter", microseconds(7), microseconds(12))};
  trace.spans.beside[0].axis = "data";
  trace.spans.beside[0].bytes = 8;
  const std::string json = trace_json(some_options(), trace);
  EXPECT_THAT(
      json, HasSubstr(R"({"name":"thread_name","ph":"M","pid":1,"tid":7,"args":{"name":"beside rank 3"}})"));
  EXPECT_THAT(json,
              HasSubstr(R"({"name":"thread_sort_index","ph":"M","pid":1,"tid":7,"args":{"sort_index":3}})"));
  EXPECT_THAT(json,
              HasSubstr(R"({"name":"reduce_scatter","cat":"communication","ph":"X","ts":3600000007,"dur":5,)"
                        R"("pid":1,"tid":7,"args":{"axis":"data","bytes":8}})"));
}

TEST(TraceFile, IsOneARankInAFolderThatIsMade) {
  const test::TemporaryFolder folder;
  TrainerOptions options = some_options();
  options.trace_directory = folder.path("new/traces");
  const Status written = write_trace(options, {.clock = kHostClock});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(test::contents(folder.path("new/traces/rank-3.json")),
            trace_json(options, {.clock = kHostClock}) + "\n");
}

TEST(TraceFile, ThatCannotBeWrittenIsNamed) {
  const test::TemporaryFolder folder;
  TrainerOptions options = some_options();
  options.trace_directory = folder.write("file", "");
  const Status written = write_trace(options, {.clock = kHostClock});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, folder.path("file/rank-3.json") + ": the trace cannot be written");
  EXPECT_EQ(written.error().code, ExitCode::kBadInput);
}

}  // namespace
}  // namespace caravan::trainer
