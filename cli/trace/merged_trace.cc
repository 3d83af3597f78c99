#include "cli/trace/merged_trace.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "cli/schedule/trace_text.h"
#include "cli/trace/event_times.h"

namespace caravan::cli {
namespace {

using v1alpha1::RankTrace;
using v1alpha1::TraceEvent;

bool has_time(const TraceEvent& event) {
  return event.ph() == "X";
}

int64_t first_begin(const std::vector<RankTrace>& traces) {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const RankTrace& trace : traces) {
    for (const TraceEvent& event : trace.trace_events()) {
      if (has_time(event)) first = std::min(first, times_of(event).begin);
    }
  }
  return first;
}

class Merger {
 public:
  explicit Merger(int64_t zero) : zero_(zero) { all_.set_display_time_unit("ms"); }

  void add(const RankTrace& trace) {
    for (const TraceEvent& event : trace.trace_events()) add(event);
    if (trace.has_dropped_events()) all_.set_dropped_events(all_.dropped_events() + trace.dropped_events());
  }

  RankTrace take() { return std::move(all_); }

 private:
  void add(const TraceEvent& event) {
    const bool is_of_process = event.name().starts_with("process_");
    if (!has_time(event) && is_of_process && !named_.insert({event.pid(), event.name()}).second) return;
    TraceEvent& copy = *all_.add_trace_events();
    copy = event;
    if (has_time(event))
      copy.set_ts(static_cast<double>(times_of(event).begin - zero_) / kNanosecondsPerMicrosecond);
  }

  const int64_t zero_;
  std::set<std::pair<int, std::string>> named_;  // processes
  RankTrace all_;
};

}  // namespace

RankTrace merged(const std::vector<RankTrace>& traces) {
  Merger merger(first_begin(traces));
  for (const RankTrace& trace : traces) merger.add(trace);
  RankTrace all = merger.take();
  if (!traces.empty()) *all.mutable_other_data() = without_place(traces.front().other_data());
  return all;
}

}  // namespace caravan::cli
