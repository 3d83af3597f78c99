#include "cli/trace/merged_trace.h"

#include <gtest/gtest.h>

#include "cli/trace/testing/rank_traces.h"
#include "common/json.h"

namespace caravan::cli {
namespace {

using testing::add;
using testing::some_trace;
using v1alpha1::RankTrace;
using v1alpha1::TraceEvent;

TEST(MergedTrace, HasAProcessForEachStageAThreadForEachRankAndTimesFromZero) {
  std::vector<RankTrace> traces = {some_trace(0), some_trace(1)};
  add(traces[0], TraceEvent::step, "step", 3600000002.125, 3600000012.25);
  add(traces[1], TraceEvent::step, "step", 3600000001.25, 3600000005.5);
  add(traces[1], TraceEvent::communication, "send", 3600000003, 3600000004, "pipeline");
  traces[1].mutable_trace_events(3)->mutable_args()->set_bytes(64);
  traces[1].set_dropped_events(2);
  EXPECT_EQ(to_json(merged(traces)),
            R"({"traceEvents":[)"
            R"({"name":"process_name","ph":"M","pid":0,"tid":0,"args":{"name":"stage 0"}},)"
            R"({"name":"thread_name","ph":"M","pid":0,"tid":0,"args":{"name":"rank 0"}},)"
            R"({"name":"step","cat":"step","ph":"X","ts":0.875,"dur":10.125,"pid":0,"tid":0},)"
            R"({"name":"thread_name","ph":"M","pid":0,"tid":1,"args":{"name":"rank 1"}},)"
            R"({"name":"step","cat":"step","ph":"X","ts":0,"dur":4.25,"pid":0,"tid":1},)"
            R"({"name":"send","cat":"communication","ph":"X","ts":1.75,"dur":1,"pid":0,"tid":1,)"
            R"("args":{"axis":"pipeline","bytes":64}}],"displayTimeUnit":"ms",)"
            R"("otherData":{"jobName":"tiny","step":7,"schedule":"1F1B","stages":1,"microBatches":1,)"
            R"("chunks":1,"segments":1,"order":"Loop","tensor":2,"data":1},"droppedEvents":2})");
}

}  // namespace
}  // namespace caravan::cli
