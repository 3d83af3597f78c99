#include "cli/cluster/job_events.h"

#include <fmt/format.h>

#include "cli/cluster/job_table.h"
#include "planner/explain/table.h"

namespace caravan::cli {
namespace {

using controller::EventView;
using planner::Align;

}  // namespace

std::string about(const EventView& event) {
  return event.kind == "Pod" ? "pod " + event.name : "";
}

std::string event_table(const std::vector<EventView>& events, controller::TimePoint now, int width) {
  std::vector<std::vector<std::string>> rows;
  for (const EventView& event : events) {
    rows.push_back({age_text(event.time, now), event.is_warning ? "Warning" : "Normal", about(event),
                    event.reason,
                    event.count > 1 ? fmt::format("{} (x{})", event.message, event.count) : event.message});
  }
  if (rows.empty()) return "";
  return planner::format_table({{.title = "AGE", .align = Align::Right},
                                {.title = "TYPE", .optional = true},
                                {.title = "ABOUT"},
                                {.title = "REASON"},
                                {.title = "MESSAGE"}},
                               rows, width);
}

}  // namespace caravan::cli
