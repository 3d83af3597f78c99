#include "cli/trace/testing/rank_traces.h"

#include <fmt/format.h>

namespace caravan::cli::testing {
namespace {

using v1alpha1::RankTrace;
using v1alpha1::TraceEvent;
using v1alpha1::TraceOrigin;

TraceEvent& add_event(RankTrace& trace, const char* phase, const std::string& name) {
  TraceEvent& event = *trace.add_trace_events();
  event.set_ph(phase);
  event.set_name(name);
  event.set_tid(trace.other_data().rank());
  return event;
}

}  // namespace

RankTrace some_trace(int rank) {
  RankTrace trace;
  TraceOrigin& origin = *trace.mutable_other_data();
  origin.set_job_name("tiny");
  origin.set_step(7);
  origin.set_schedule("1F1B");
  for (const auto set : {&TraceOrigin::set_stages, &TraceOrigin::set_micro_batches, &TraceOrigin::set_chunks,
                         &TraceOrigin::set_segments, &TraceOrigin::set_data})
    (origin.*set)(1);
  origin.set_order(TraceOrigin::Loop);
  origin.set_tensor(2);
  origin.set_rank(rank);
  origin.set_tensor_rank(rank);
  origin.set_data_rank(0);
  origin.set_stage(0);
  add_event(trace, "M", "process_name").mutable_args()->set_name("stage 0");
  add_event(trace, "M", "thread_name").mutable_args()->set_name(fmt::format("rank {}", rank));
  return trace;
}

void add(RankTrace& trace, TraceEvent::Category category, const std::string& name, double from, double to,
         const std::string& axis) {
  TraceEvent& event = add_event(trace, "X", name);
  event.set_cat(category);
  event.set_ts(from);
  event.set_dur(to - from);
  if (!axis.empty()) event.mutable_args()->set_axis(axis);
}

void add_message(RankTrace& trace, const std::string& name, double from, double to, int64_t bytes) {
  add(trace, TraceEvent::communication, name, from, to, "pipeline");
  v1alpha1::TraceArguments& args = *trace.mutable_trace_events()->rbegin()->mutable_args();
  args.set_peer(1);
  if (bytes > 0) args.set_bytes(bytes);
}

}  // namespace caravan::cli::testing
