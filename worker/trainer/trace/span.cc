#include "worker/trainer/trace/span.h"

#include <utility>

namespace caravan::trainer {
namespace {

thread_local SpanRecording* open_recording = nullptr;

}  // namespace

SpanRecording::SpanRecording(SpanTrace& trace, const TraceClock& clock, std::size_t most)
    : trace_(trace), clock_(clock), most_(most), outer_(open_recording) {
  open_recording = this;
}

SpanRecording::~SpanRecording() {
  open_recording = outer_;
}

bool SpanRecording::has_room() {
  if (trace_.spans.size() + trace_.beside.size() < most_) return true;
  ++trace_.dropped;
  return false;
}

void note_beside(Span span) {
  if (open_recording != nullptr && open_recording->has_room())
    open_recording->trace_.beside.push_back(std::move(span));
}

TraceSpan::TraceSpan(SpanKind kind, std::string_view name, std::string_view axis, int64_t bytes,
                     std::optional<int> peer)
    : recording_(open_recording) {
  if (recording_ == nullptr) return;
  if (!recording_->has_room()) {
    recording_ = nullptr;
    return;
  }
  SpanTrace& trace = recording_->trace_;
  place_ = trace.spans.size();
  trace.spans.push_back(
      {.kind = kind, .name = name, .axis = std::string(axis), .bytes = bytes, .peer = peer});
  trace.spans.back().begin = recording_->clock_.now();
}

TraceSpan::~TraceSpan() {
  if (recording_ != nullptr) recording_->trace_.spans[place_].end = recording_->clock_.now();
}

}  // namespace caravan::trainer
