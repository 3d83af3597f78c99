#include "cli/cluster/job_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/cluster/job_table.h"
#include "common/utf8.h"
#include "planner/explain/table.h"

namespace caravan::cli {
namespace {

using planner::Align;

constexpr std::size_t kLongestMessage = 1024;

std::string about(const kube::Json& event) {
  const std::string kind = kube::text_at(event, {"regarding", "kind"});
  if (kind != "Pod") return "";
  return "pod " + kube::text_at(event, {"regarding", "name"});
}

// Events come from whoever may write them.
std::string one_line(const std::string& text) {
  std::string line = readable(text, kLongestMessage);
  std::ranges::replace(line, '\n', ' ');
  return line;
}

}  // namespace

// Those of older programs have other fields for time and number.
EventView read_event(const kube::Json& event) {
  EventView view{.is_warning = kube::text_at(event, {"type"}) == "Warning",
                 .about = about(event),
                 .reason = kube::text_at(event, {"reason"}),
                 .message = one_line(kube::text_at(event, {"note"}))};
  const std::array times{
      kube::text_at(event, {"series", "lastObservedTime"}), kube::text_at(event, {"deprecatedLastTimestamp"}),
      kube::text_at(event, {"eventTime"}), kube::text_at(event, {"metadata", "creationTimestamp"})};
  const auto known = std::ranges::find_if(times, [](const std::string& time) { return !time.empty(); });
  if (known != times.end()) view.time = *known;
  const auto series = kube::integer_at(event, {"series", "count"});
  const auto older = kube::integer_at(event, {"deprecatedCount"});
  view.count = static_cast<int>(std::max<std::int64_t>(1, series.value_or(older.value_or(1))));
  return view;
}

std::string event_table(const std::vector<EventView>& events, controller::TimePoint now, int width) {
  std::vector<std::vector<std::string>> rows;
  for (const EventView& event : events) {
    rows.push_back({age_text(event.time, now), event.is_warning ? "Warning" : "Normal", event.about,
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
