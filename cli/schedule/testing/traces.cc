#include "cli/schedule/testing/traces.h"

#include <fmt/format.h>

#include "common/json.h"
#include "planner/schedule/generate.h"
#include "planner/schedule/trace_category.h"

namespace caravan::cli::testing {
namespace {

using planner::TimedOp;
using v1alpha1::RankTrace;
using v1alpha1::TraceEvent;
using v1alpha1::TraceOrigin;

constexpr double kHour = 3600;

TraceOrigin origin_of(const planner::ScheduleSpec& spec, int tensor, int stage) {
  TraceOrigin origin;
  origin.set_job_name("tiny");
  origin.set_step(7);
  origin.set_schedule(std::string(planner::schedule_name(spec.kind)));
  origin.set_stages(spec.stages);
  origin.set_micro_batches(spec.micro_batches);
  origin.set_chunks(spec.chunks);
  origin.set_segments(spec.segments);
  origin.set_order(spec.map().order == planner::ChunkOrder::V ? TraceOrigin::V : TraceOrigin::Loop);
  origin.set_tensor(tensor);
  origin.set_data(1);
  origin.set_rank(stage * tensor);
  origin.set_stage(stage);
  return origin;
}

void add(const TimedOp& timed, RankTrace& trace) {
  TraceEvent& event = *trace.add_trace_events();
  event.set_ph("X");
  event.set_cat(planner::trace_category(timed.op.type));
  event.set_ts(1e6 * (kHour + timed.start));
  event.set_dur(1e6 * (timed.end - timed.start));
  event.mutable_args()->set_micro_batch(timed.op.micro_batch);
  event.mutable_args()->set_segment(timed.op.segment);
  event.mutable_args()->set_chunk(timed.op.chunk);
}

}  // namespace

std::vector<RankTrace> traces_of(const planner::ScheduleSpec& spec, const planner::OpTimes& times,
                                 int tensor) {
  const auto ops = planner::time_ops(planner::generate_schedule(spec, times), times);
  std::vector<RankTrace> traces(ops.size());
  for (std::size_t stage = 0; stage < ops.size(); ++stage) {
    *traces[stage].mutable_other_data() = origin_of(spec, tensor, static_cast<int>(stage));
    TraceEvent& name = *traces[stage].add_trace_events();
    name.set_ph("M");
    name.set_name("process_name");
    for (const TimedOp& timed : ops[stage]) add(timed, traces[stage]);
    TraceEvent& wait = *traces[stage].add_trace_events();
    wait.set_cat(TraceEvent::wait);
    wait.set_ts(1e6 * kHour);
  }
  return traces;
}

std::map<std::string, std::string> files_of(const std::vector<RankTrace>& traces) {
  std::map<std::string, std::string> files;
  for (const RankTrace& trace : traces)
    files[fmt::format("traces/rank-{}.json", trace.other_data().rank())] = to_json(trace);
  return files;
}

ReadFile reader_of(const std::map<std::string, std::string>& files) {
  return [files](const std::string& path) -> Result<std::string> {
    const auto file = files.find(path);
    if (file == files.end()) return bad_input(path + ": there is none");
    return file->second;
  };
}

}  // namespace caravan::cli::testing
