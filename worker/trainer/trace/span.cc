#include "worker/trainer/trace/span.h"

namespace caravan::trainer {
namespace {

thread_local SpanRecording* open_recording = nullptr;

}  // namespace

SpanRecording::SpanRecording(SpanTrace& trace, std::size_t most)
    : trace_(trace), most_(most), outer_(open_recording) {
  open_recording = this;
}

SpanRecording::~SpanRecording() {
  open_recording = outer_;
}

TraceSpan::TraceSpan(SpanKind kind, std::string_view name, std::string_view axis, int64_t bytes,
                     std::optional<int> peer)
    : recording_(open_recording) {
  if (recording_ == nullptr) return;
  SpanTrace& trace = recording_->trace_;
  if (trace.spans.size() >= recording_->most_) {
    ++trace.dropped;
    recording_ = nullptr;
    return;
  }
  place_ = trace.spans.size();
  trace.spans.push_back(
      {.kind = kind, .name = name, .axis = std::string(axis), .bytes = bytes, .peer = peer});
  trace.spans.back().begin = Span::Clock::now();
}

TraceSpan::~TraceSpan() {
  if (recording_ != nullptr) recording_->trace_.spans[place_].end = Span::Clock::now();
}

}  // namespace caravan::trainer
