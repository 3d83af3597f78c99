#include "worker/trainer/loop/trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "caravan/v1alpha1/trace.pb.h"
#include "common/json.h"
#include "planner/mesh.h"
#include "planner/schedule/trace_category.h"

namespace caravan::trainer {
namespace {

using v1alpha1::RankTrace;
using v1alpha1::TraceEvent;
using v1alpha1::TraceOrigin;

double microseconds(Clock::Duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

TraceEvent::Category category_of(SpanKind kind) {
  switch (kind) {
    case SpanKind::Step:
      return TraceEvent::step;
    case SpanKind::Phase:
      return TraceEvent::phase;
    case SpanKind::Product:
      return TraceEvent::product;
    case SpanKind::Attention:
      return TraceEvent::attention;
    case SpanKind::Kernel:
      return TraceEvent::kernel;
    case SpanKind::Communication:
      return TraceEvent::communication;
  }
  return TraceEvent::none;
}

TraceOrigin origin_of(const TrainerOptions& options, int step) {
  const planner::MeshShape& mesh = options.layout.mesh;
  const planner::MeshPosition place = planner::position_of(options.rendezvous.rank, mesh);
  const planner::ScheduleSpec spec = options.layout.schedule_of(static_cast<int>(options.micro_batches()));
  TraceOrigin origin;
  origin.set_job_name(options.job_name);
  origin.set_step(step);
  origin.set_schedule(std::string(planner::schedule_name(spec.kind)));
  origin.set_stages(spec.stages);
  origin.set_micro_batches(spec.micro_batches);
  origin.set_chunks(spec.chunks);
  origin.set_segments(spec.segments);
  origin.set_order(spec.map().order == planner::ChunkOrder::V ? TraceOrigin::V : TraceOrigin::Loop);
  origin.set_tensor(mesh.tensor);
  origin.set_data(mesh.data);
  origin.set_rank(options.rendezvous.rank);
  origin.set_tensor_rank(place.tensor);
  origin.set_data_rank(place.data);
  origin.set_stage(place.pipeline);
  return origin;
}

class TraceWriter {
 public:
  TraceWriter(TraceOrigin origin, const TraceClock& clock)
      : clock_(clock),
        sizes_{.stages = origin.stages(),
               .micro_batches = origin.micro_batches(),
               .chunks = origin.chunks(),
               .segments = origin.segments(),
               .ops = {}} {
    trace_.set_display_time_unit("ms");
    *trace_.mutable_other_data() = std::move(origin);
    const TraceOrigin& of = trace_.other_data();
    add_name("process_name", fmt::format("stage {}", of.stage()));
    add_place("process_sort_index", of.stage());
    name_row(fmt::format("rank {} (tensor {}, data {})", of.rank(), of.tensor_rank(), of.data_rank()));
  }

  // What follows is beside the rank's own work, in a row of its own.
  void go_beside(int row) {
    row_ = row;
    name_row(fmt::format("beside rank {}", trace_.other_data().rank()));
  }

  void add(const TracedOp& traced, TraceEvent::Category category) {
    TraceEvent& event = add_timed(traced.begin, traced.end, category);
    event.set_name((category == TraceEvent::wait ? "wait for " : "") + planner::op_text(traced.op, sizes_));
    event.mutable_args()->set_micro_batch(traced.op.micro_batch);
    event.mutable_args()->set_segment(traced.op.segment);
    event.mutable_args()->set_chunk(traced.op.chunk);
  }

  void add(const Span& span) {
    TraceEvent& event = add_timed(span.begin, span.end, category_of(span.kind));
    event.set_name(std::string(span.name));
    if (span.kind != SpanKind::Communication) return;
    event.mutable_args()->set_axis(span.axis);
    if (span.bytes > 0) event.mutable_args()->set_bytes(span.bytes);
    if (span.peer) event.mutable_args()->set_peer(*span.peer);
  }

  void drop(int64_t events) { trace_.set_dropped_events(events); }

  std::string json() {
    const auto begin_and_end = [](const TraceEvent* event) { return std::pair(event->ts(), -event->dur()); };
    auto& events = *trace_.mutable_trace_events();
    std::ranges::stable_sort(events.pointer_begin(), events.pointer_end(), {}, begin_and_end);
    return to_json(trace_);
  }

 private:
  void name_row(const std::string& name) {
    add_name("thread_name", name);
    add_place("thread_sort_index", trace_.other_data().rank());
  }

  void add_name(const char* of_what, const std::string& name) {
    TraceEvent& event = add_event("M");
    event.set_name(of_what);
    event.mutable_args()->set_name(name);
  }

  void add_place(const char* of_what, int index) {
    TraceEvent& event = add_event("M");
    event.set_name(of_what);
    event.mutable_args()->set_sort_index(index);
  }

  TraceEvent& add_timed(const Moment& first, const Moment& last, TraceEvent::Category category) {
    const Clock::TimePoint begin = clock_.time_of(first);
    const Clock::TimePoint end = clock_.time_of(last);
    TraceEvent& event = add_event("X");
    event.set_cat(category);
    event.set_ts(microseconds(begin.time_since_epoch()));
    event.set_dur(microseconds(end - begin));
    return event;
  }

  TraceEvent& add_event(const char* phase) {
    TraceEvent& event = *trace_.add_trace_events();
    event.set_ph(phase);
    event.set_pid(trace_.other_data().stage());
    event.set_tid(row_.value_or(trace_.other_data().rank()));
    return event;
  }

  const TraceClock& clock_;
  std::optional<int> row_;  // absent: the rank's
  const planner::Schedule sizes_;
  RankTrace trace_;
};

}  // namespace

std::string trace_json(const TrainerOptions& options, const StepTrace& trace) {
  TraceWriter writer(origin_of(options, trace.step), trace.clock);
  for (const TracedOp& traced : trace.ops.ops) writer.add(traced, planner::trace_category(traced.op.type));
  for (const TracedOp& wait : trace.ops.waits) writer.add(wait, TraceEvent::wait);
  for (const Span& span : trace.spans.spans) writer.add(span);
  if (!trace.spans.beside.empty()) {
    writer.go_beside(options.rendezvous.world_size + options.rendezvous.rank);
    for (const Span& span : trace.spans.beside) writer.add(span);
  }
  if (trace.spans.dropped > 0) writer.drop(trace.spans.dropped);
  return writer.json();
}

Status write_trace(const TrainerOptions& options, const StepTrace& trace) {
  const std::filesystem::path directory = options.trace_directory;
  std::error_code error;  // shows when the file is written
  std::filesystem::create_directories(directory, error);
  const std::filesystem::path path = directory / fmt::format("rank-{}.json", options.rendezvous.rank);
  std::ofstream file(path, std::ios::binary);
  file << trace_json(options, trace) << '\n';
  file.close();
  if (!file) return bad_input(fmt::format("{}: the trace cannot be written", path.string()));
  return {};
}

}  // namespace caravan::trainer
