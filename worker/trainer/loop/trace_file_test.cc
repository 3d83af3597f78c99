#include "worker/trainer/loop/trace_file.h"

#include <gtest/gtest.h>

#include "common/testing/temporary_folder.h"

namespace caravan::trainer {
namespace {

using planner::OpType;
using planner::ScheduleKind;
using std::chrono::microseconds;

constexpr Clock::TimePoint kBegin{std::chrono::hours(1)};

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
  return {.op = {.type = type, .micro_batch = 1}, .begin = kBegin + from, .end = kBegin + to};
}

TEST(TraceFile, IsWhatTheTraceViewersRead) {
  OpTrace trace;
  trace.ops.push_back(traced(OpType::Forward, microseconds(2), microseconds(5)));
  trace.ops.push_back(traced(OpType::BackwardInput, microseconds(5), microseconds(9)));
  trace.waits.push_back(traced(OpType::Forward, microseconds(1), microseconds(2)));
  const std::string args = R"("args":{"microBatch":1,"segment":0,"chunk":0}})";
  EXPECT_EQ(
      trace_json(some_options(), 7, trace),
      R"({"traceEvents":[)"
      R"({"name":"process_name","ph":"M","pid":1,"tid":3,"args":{"name":"stage 1"}},)"
      R"|({"name":"thread_name","ph":"M","pid":1,"tid":3,"args":{"name":"rank 3 (tensor 1, data 0)"}},)|"
      R"({"name":"F1","cat":"forward","ph":"X","ts":3600000002,"dur":3,"pid":1,"tid":3,)" +
          args + R"(,{"name":"B1","cat":"backward_input","ph":"X","ts":3600000005,"dur":4,"pid":1,"tid":3,)" +
          args + R"(,{"name":"wait for F1","cat":"wait","ph":"X","ts":3600000001,"dur":1,"pid":1,"tid":3,)" +
          args +
          R"(],"displayTimeUnit":"ms","otherData":{"jobName":"tiny","step":7,"schedule":"ZBH1","stages":2,)"
          R"("microBatches":4,"chunks":1,"segments":1,"order":"Loop","tensor":2,"data":1,"rank":3,)"
          R"("tensorRank":1,"dataRank":0,"stage":1}})");
}

TEST(TraceFile, IsOneARankInAFolderThatIsMade) {
  const test::TemporaryFolder folder;
  TrainerOptions options = some_options();
  options.trace_directory = folder.path("new/traces");
  const Status written = write_trace(options, 7, {});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(test::contents(folder.path("new/traces/rank-3.json")), trace_json(options, 7, {}) + "\n");
}

TEST(TraceFile, ThatCannotBeWrittenIsNamed) {
  const test::TemporaryFolder folder;
  TrainerOptions options = some_options();
  options.trace_directory = folder.write("file", "");
  const Status written = write_trace(options, 7, {});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, folder.path("file/rank-3.json") + ": the trace cannot be written");
  EXPECT_EQ(written.error().code, ExitCode::kBadInput);
}

}  // namespace
}  // namespace caravan::trainer
