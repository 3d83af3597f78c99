// Where the time of a step goes below its ops: what the thread that trains does, as spans that lie within one
// another, noted while a SpanRecording is open on that thread, by its clock. Without one, and on other
// threads, a span costs a branch.
//
// A recording is bounded: beyond its limit spans are counted and not kept, and their time is that of the span
// around them. It is no tensor, so no ledger counts it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/trainer/trace/trace_clock.h"

namespace caravan::trainer {

enum class SpanKind { Step, Phase, Product, Attention, Kernel, Communication };

struct Span {
  SpanKind kind = SpanKind::Kernel;
  std::string_view name;  // of static storage
  // Of a communication: along which axis, the bytes on this rank (0 where it only waits), and with whom where
  // it is one rank.
  std::string axis = {};
  int64_t bytes = 0;
  std::optional<int> peer = std::nullopt;
  Moment begin = {};
  Moment end = {};
};

struct SpanTrace {
  std::vector<Span> spans;   // in the order of their begins
  std::vector<Span> beside;  // what other threads did for this one meanwhile, by the host's clock
  int64_t dropped = 0;       // beyond the limit, which is that of both together
};

// Until the scope ends, of the thread that made it and the clock; the innermost scope records. Spans end
// before it.
class SpanRecording {
 public:
  static constexpr std::size_t kMostSpans = 200'000;  // some 24 MB, and marks

  SpanRecording(SpanTrace& trace, const TraceClock& clock, std::size_t most = kMostSpans);
  ~SpanRecording();
  SpanRecording(const SpanRecording&) = delete;
  SpanRecording& operator=(const SpanRecording&) = delete;

 private:
  friend class TraceSpan;
  friend void note_beside(Span span);

  bool has_room();

  SpanTrace& trace_;
  const TraceClock& clock_;
  const std::size_t most_;
  SpanRecording* const outer_;
};

// From its construction to its destruction.
class TraceSpan {
 public:
  TraceSpan(SpanKind kind, std::string_view name) : TraceSpan(kind, name, {}, 0, {}) {}
  TraceSpan(SpanKind kind, std::string_view name, std::string_view axis, int64_t bytes,
            std::optional<int> peer);
  ~TraceSpan();
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  SpanRecording* recording_;  // null: not kept
  std::size_t place_ = 0;
};

// One that is over, and was beside what the calling thread did.
void note_beside(Span span);

// A kernel by its name, but for products and attention.
class KernelSpan : private TraceSpan {
 public:
  explicit KernelSpan(std::string_view name) : TraceSpan(SpanKind::Kernel, name) {}
};

}  // namespace caravan::trainer
