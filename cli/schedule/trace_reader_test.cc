#include "cli/schedule/trace_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "cli/schedule/testing/traces.h"
#include "planner/schedule/generate.h"

namespace caravan::cli {
namespace {

using planner::ScheduleKind;
using planner::ScheduleSpec;
using ::testing::HasSubstr;
using v1alpha1::RankTrace;
using v1alpha1::TraceEvent;
using v1alpha1::TraceOrigin;

constexpr double kTolerance = 1e-6;

planner::OpTimes equal_times(const ScheduleSpec& spec) {
  return planner::even_times(std::vector<planner::PhaseTimes>(spec.stages), spec.map(), spec.segments);
}

Result<ExecutedSchedule> read(const std::map<std::string, std::string>& files) {
  return read_traces("traces", testing::reader_of(files));
}

TEST(TraceReader, GivesBackWhatEveryScheduleExecuted) {
  for (const ScheduleKind kind : planner::all_schedule_kinds()) {
    const ScheduleSpec spec = planner::smallest_spec(kind, 4, 8);
    const planner::OpTimes times = equal_times(spec);
    const planner::Schedule schedule = planner::generate_schedule(spec, times);
    const auto executed = read(testing::files_of(testing::traces_of(spec, times)));
    ASSERT_TRUE(executed) << executed.error().message;
    EXPECT_EQ(executed->schedule, schedule) << planner::schedule_name(kind);
    EXPECT_EQ(executed->spec.kind, kind);
    EXPECT_EQ(executed->step, 7);
    EXPECT_EQ(executed->ops.front().front().start, 0) << "an hour of the clock before it does not count";
    const planner::Simulation expected = planner::simulate(schedule, times);
    const planner::Simulation actual = performance_of(*executed);
    EXPECT_NEAR(actual.makespan, expected.makespan, kTolerance);
    EXPECT_NEAR(actual.bubble, expected.bubble, kTolerance) << planner::schedule_name(kind);
    EXPECT_NEAR(actual.span_bubble, expected.span_bubble, kTolerance);
    EXPECT_EQ(actual.peaks, expected.peaks);
  }
}

// Of devices, each of whose hosts notices a mark when it does.
TEST(TraceReader, TakesRanksWhoseTimesAreALittleLate) {
  const ScheduleSpec spec{.stages = 2, .micro_batches = 3};
  auto traces = testing::traces_of(spec, equal_times(spec));
  for (TraceEvent& event : *traces[0].mutable_trace_events()) event.set_ts(event.ts() + 300);
  const auto executed = read(testing::files_of(traces));
  EXPECT_TRUE(executed) << executed.error().message;
}

TEST(TraceReader, TakesTheFirstRankOfEachStagesOtherAxes) {
  const ScheduleSpec spec{.stages = 3, .micro_batches = 2};
  const auto files = testing::files_of(testing::traces_of(spec, equal_times(spec), 4));
  EXPECT_EQ(files.count("traces/rank-8.json"), 1U);
  const auto executed = read(files);
  ASSERT_TRUE(executed) << executed.error().message;
  EXPECT_EQ(executed->ops.size(), 3U);
}

TEST(TraceReader, FindsTheMeanTimesOfGroupsTypesAndSegments) {
  const ScheduleSpec spec{
      .kind = ScheduleKind::SeqZeroBubble, .stages = 2, .micro_batches = 3, .segments = 2};
  const planner::OpTimes times{.groups = {{1, 2, 3}, {2, 3, 4}, {4, 5, 6}, {5, 6, 7}}, .segments = 2};
  const auto executed = read(testing::files_of(testing::traces_of(spec, times)));
  ASSERT_TRUE(executed) << executed.error().message;
  const planner::OpTimes mean = mean_times(*executed);
  ASSERT_EQ(mean.groups.size(), times.groups.size());
  for (std::size_t unit = 0; unit < times.groups.size(); ++unit) {
    EXPECT_NEAR(mean.groups[unit].forward, times.groups[unit].forward, kTolerance);
    EXPECT_NEAR(mean.groups[unit].backward_input, times.groups[unit].backward_input, kTolerance);
    EXPECT_NEAR(mean.groups[unit].backward_weight, times.groups[unit].backward_weight, kTolerance);
  }
}

struct Spoiled {
  std::string name;
  std::function<void(std::vector<RankTrace>& traces)> spoil;
  std::string error;
};

void PrintTo(const Spoiled& spoiled, std::ostream* out) {
  *out << spoiled.name;
}

TraceOrigin& origin(std::vector<RankTrace>& traces, int stage = 0) {
  return *traces[stage].mutable_other_data();
}

// The first is the name of the process.
TraceEvent& event(std::vector<RankTrace>& traces, int number) {
  return *traces[0].mutable_trace_events(number);
}

constexpr int kMost = std::numeric_limits<int>::max();

std::vector<Spoiled> spoiled_origins() {
  return {
      {"UnknownSchedule", [](auto& t) { origin(t).set_schedule("1F2B"); },
       "traces/rank-0.json: otherData.schedule names no schedule that is known"},
      {"NoStages", [](auto& t) { origin(t).set_stages(0); },
       "traces/rank-0.json: otherData.stages is 0, and not from 1 to 256"},
      {"TooManyStages", [](auto& t) { origin(t).set_stages(257); }, "otherData.stages is 257"},
      {"TooManyMicroBatches", [](auto& t) { origin(t).set_micro_batches(kMost); },
       "otherData.microBatches is 2147483647, and not from 1 to 4096"},
      {"TooManyRanks", [](auto& t) { origin(t).set_data(1 << 20); },
       "are 2097152 ranks; 1048576 are the most"},
      {"TooManyUnits",
       [](auto& t) {
         origin(t).set_stages(256);
         origin(t).set_micro_batches(4096);
       },
       "1048576 stages x micro-batches x chunks x segments are too many to draw"},
      {"ChunksOfAnotherSchedule", [](auto& t) { origin(t).set_chunks(2); },
       "traces/rank-0.json: 1F1B has one chunk on each stage, not 2"},
      {"AnotherOrder", [](auto& t) { origin(t).set_order(TraceOrigin::V); },
       "otherData.order is not that of 1F1B"},
      {"AnotherStage", [](auto& t) { origin(t, 1).set_stage(0); },
       "traces/rank-1.json: otherData: rank, tensorRank, dataRank and stage must be 1, 0, 0 and 1; they are "
       "1, 0, 0 and 0"},
      {"AnotherStep", [](auto& t) { origin(t, 1).set_step(8); },
       "traces/rank-1.json: another run or step wrote it than traces/rank-0.json: {"},
  };
}

std::vector<Spoiled> spoiled_ops() {
  return {
      {"NoOps", [](auto& t) { t[1].clear_trace_events(); }, "traces/rank-1.json: there are no ops in it"},
      {"NoArguments", [](auto& t) { event(t, 2).clear_args(); },
       "traces/rank-0.json: traceEvents[2]: args.microBatch, segment and chunk must be there"},
      {"MicroBatchThatIsNotThere", [](auto& t) { event(t, 2).mutable_args()->set_micro_batch(3); },
       "traceEvents[2]: args.microBatch is 3, and not from 0 to 2"},
      {"NegativeSegment", [](auto& t) { event(t, 2).mutable_args()->set_segment(-1); },
       "traceEvents[2]: args.segment is -1, and not from 0 to 0"},
      {"HugeChunk", [](auto& t) { event(t, 2).mutable_args()->set_chunk(kMost); },
       "args.chunk is 2147483647"},
      {"TimeThatIsNone", [](auto& t) { event(t, 2).set_ts(-1); },
       "traceEvents[2]: ts is -1, which is no time"},
      {"EndlessOp", [](auto& t) { event(t, 2).set_dur(1e300); }, "traceEvents[2]: dur is 1e+300"},
      {"Overlap", [](auto& t) { event(t, 1).set_dur(1.5e6); },
       "traces/rank-0.json: traceEvents[2]: it begins before the op before it has ended"},
      {"MissingOp", [](auto& t) { t[1].mutable_trace_events()->DeleteSubrange(2, 1); },
       "traces/rank-0.json to traces/rank-1.json, stages 0 to 1: the ops are no 1F1B: 2 stages, 3 "
       "micro-batches: stage 1: micro-batch 0 segment 0 chunk 0 has 1 forwards, 0 backwards"},
      {"OtherClock",
       [](auto& t) {
         for (TraceEvent& e : *t[1].mutable_trace_events()) e.set_ts(e.ts() - 5e5);
       },
       "traces/rank-1.json: F0 begins 0.5 s before what it needs was made, as traces/rank-0.json has it: "
       "they are of different runs, or of machines whose clocks differ"},
      {"NoTime",
       [](auto& t) {
         for (RankTrace& trace : t) {
           for (TraceEvent& e : *trace.mutable_trace_events()) {
             e.set_ts(1);
             e.set_dur(0);
           }
         }
       },
       "take no time"},
  };
}

std::vector<Spoiled> all_spoiled() {
  std::vector<Spoiled> all = spoiled_origins();
  for (Spoiled& spoiled : spoiled_ops()) all.push_back(std::move(spoiled));
  return all;
}

class SpoiledTraces : public ::testing::TestWithParam<Spoiled> {};

TEST_P(SpoiledTraces, AreRefusedInWords) {
  const ScheduleSpec spec{.stages = 2, .micro_batches = 3};
  std::vector<RankTrace> traces = testing::traces_of(spec, equal_times(spec));
  GetParam().spoil(traces);
  const auto executed = read(testing::files_of(traces));
  ASSERT_FALSE(executed);
  EXPECT_EQ(executed.error().code, ExitCode::kBadInput);
  EXPECT_THAT(executed.error().message, HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(TraceReader, SpoiledTraces, ::testing::ValuesIn(all_spoiled()),
                         [](const auto& info) { return info.param.name; });

TEST(TraceReader, PassesByWhatIsNoOp) {
  const ScheduleSpec spec{.kind = ScheduleKind::OneFOneB, .stages = 2, .micro_batches = 2};
  std::vector<RankTrace> traces = testing::traces_of(spec, equal_times(spec));
  const auto plain = read(testing::files_of(traces));
  for (RankTrace& trace : traces) {
    for (const auto category : {TraceEvent::step, TraceEvent::phase, TraceEvent::product,
                                TraceEvent::attention, TraceEvent::kernel, TraceEvent::communication}) {
      TraceEvent& event = *trace.add_trace_events();
      event.set_cat(category);
      event.set_ph("X");
      event.set_dur(1e9);
    }
  }
  const auto richer = read(testing::files_of(traces));
  ASSERT_TRUE(plain && richer);
  EXPECT_EQ(richer->schedule.ops, plain->schedule.ops);
  EXPECT_EQ(richer->ops.front().back().end, plain->ops.front().back().end);
}

TEST(TraceReader, NamesTheFileThatIsMissingOrNoTrace) {
  const ScheduleSpec spec{.stages = 2, .micro_batches = 3};
  auto files = testing::files_of(testing::traces_of(spec, equal_times(spec)));
  for (const char* junk :
       {"", "F0 F1", "[]", R"({"traceEvents": 3})", R"({"traceEvents": [{"cat": "forth"}]})",
        R"({"traceEvents": [{"ts": "soon"}]})", "\xff", R"({"otherData": {"rank": 1e99}})"}) {
    files["traces/rank-1.json"] = junk;
    const auto executed = read(files);
    ASSERT_FALSE(executed) << junk;
    EXPECT_EQ(executed.error().code, ExitCode::kBadInput) << junk;
    EXPECT_THAT(executed.error().message, ::testing::StartsWith("traces/rank-1.json: ")) << junk;
  }
  files.erase("traces/rank-1.json");
  EXPECT_EQ(read(files).error().message, "traces/rank-1.json: there is none");
}

}  // namespace
}  // namespace caravan::cli
