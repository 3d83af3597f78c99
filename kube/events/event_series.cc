#include "kube/events/event_series.h"

#include <fmt/format.h>

#include "common/utf8.h"
#include "kube/api/names.h"
#include "kube/api/timestamp.h"

namespace caravan::kube {
namespace {

constexpr std::size_t kLongestWord = 128;
constexpr std::size_t kLongestNamePrefix = kLongestName - 53;  // the rest makes the name unique

std::string cut(const std::string& text, std::size_t longest) {
  return std::string(utf8_prefix(text, longest));
}

}  // namespace

EventWrite EventSeries::add(const EventNote& note, Clock::TimePoint now, Clock::WallTime wall) {
  std::erase_if(series_, [&](const auto& entry) { return now - entry.second.last > kSeriesEnds; });
  const std::string time = to_timestamp(wall);
  if (const auto known = series_.find(key_of_note(note)); known != series_.end()) {
    known->second.last = now;
    const int count = ++known->second.count;
    return PatchEvent{
        .key = known->second.event,
        .patch = JsonObject{{"series", JsonObject{{"count", count}, {"lastObservedTime", time}}}}};
  }
  const ObjectKey regarding = key_of(note.regarding);
  const ObjectKey key{.name_space = regarding.name_space.empty() ? "default" : regarding.name_space,
                      .name = fmt::format("{}.{:x}.{:x}", cut(regarding.name, kLongestNamePrefix),
                                          wall.time_since_epoch().count(), ++names_given_)};
  series_[key_of_note(note)] = {.event = key, .count = 1, .last = now};
  return CreateEvent{first_event(note, key, time)};
}

void EventSeries::forget(const EventNote& note) {
  series_.erase(key_of_note(note));
}

EventSeries::Key EventSeries::key_of_note(const EventNote& note) {
  return {uid_of(note.regarding), note.type, note.reason, note.action, note.note};
}

Json EventSeries::first_event(const EventNote& note, const ObjectKey& key, const std::string& time) const {
  const ObjectKey regarding = key_of(note.regarding);
  return JsonObject{{"apiVersion", "events.k8s.io/v1"},
                    {"kind", "Event"},
                    {"metadata", JsonObject{{"namespace", key.name_space}, {"name", key.name}}},
                    {"eventTime", time},
                    {"reportingController", reporter_.controller},
                    {"reportingInstance", cut(reporter_.instance, kLongestWord)},
                    {"action", cut(note.action, kLongestWord)},
                    {"reason", cut(note.reason, kLongestWord)},
                    {"type", note.type == EventType::kNormal ? "Normal" : "Warning"},
                    {"note", cut(note.note, kLongestNote)},
                    {"regarding", JsonObject{{"apiVersion", text_at(note.regarding, {"apiVersion"})},
                                             {"kind", text_at(note.regarding, {"kind"})},
                                             {"namespace", regarding.name_space},
                                             {"name", regarding.name},
                                             {"uid", uid_of(note.regarding)}}}};
}

}  // namespace caravan::kube
