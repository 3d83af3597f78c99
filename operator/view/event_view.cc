#include "operator/view/event_view.h"

#include <algorithm>
#include <array>
#include <limits>

#include "common/utf8.h"
#include "kube/api/names.h"

namespace caravan::controller {
namespace {

using kube::Json;

// Those of older programs have another field for it.
int count_of(const Json& event) {
  const auto series = kube::integer_at(event, {"series", "count"});
  const std::int64_t count = series.value_or(kube::integer_at(event, {"deprecatedCount"}).value_or(1));
  return static_cast<int>(std::clamp<std::int64_t>(count, 1, std::numeric_limits<int>::max()));
}

}  // namespace

std::string time_of_event(const Json& event) {
  const std::array times{kube::text_at(event, {"series", "lastObservedTime"}),
                         kube::text_at(event, {"eventTime"}),
                         kube::text_at(event, {"deprecatedLastTimestamp"}),
                         kube::text_at(event, {"metadata", "creationTimestamp"})};
  const auto known = std::ranges::find_if(times, [](const std::string& time) { return !time.empty(); });
  return known == times.end() ? "" : *known;
}

EventView read_event(const Json& event) {
  const auto word = [&](kube::JsonPath path) {
    return readable_line(kube::text_at(event, path), kube::kLongestName);
  };
  return {.time = time_of_event(event),
          .is_warning = kube::text_at(event, {"type"}) == "Warning",
          .kind = word({"regarding", "kind"}),
          .name = word({"regarding", "name"}),
          .reason = word({"reason"}),
          .message = readable_line(kube::text_at(event, {"note"}), kube::kLongestNote),
          .count = count_of(event)};
}

}  // namespace caravan::controller
