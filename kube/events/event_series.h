// Turns notes about objects into Events (events.k8s.io/v1): the first is created without a series, a
// repetition within six minutes becomes a patch of its series, whose count starts at 2 since the server
// rejects 1. Pure but for memory.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <variant>

#include "common/clock.h"
#include "kube/api/json.h"
#include "kube/api/object.h"

namespace caravan::kube {

enum class EventType { kNormal, kWarning };

struct EventNote {
  Json regarding;  // the object: apiVersion, kind and metadata are read
  EventType type = EventType::kNormal;
  std::string reason;  // one word, such as PodCreated; at most 128 characters
  std::string action;  // what the controller did, such as CreatePod; at most 128 characters
  std::string note;    // cut at kLongestNote (api/names.h)
};

struct EventReporter {
  std::string controller;  // such as caravan.dev/operator
  std::string instance;    // such as the name of the pod
};

struct CreateEvent {
  Json event;
};
struct PatchEvent {
  ObjectKey key;
  Json patch;  // a merge patch
};
using EventWrite = std::variant<CreateEvent, PatchEvent>;

class EventSeries {
 public:
  static constexpr std::chrono::minutes kSeriesEnds{6};

  explicit EventSeries(EventReporter reporter) : reporter_(std::move(reporter)) {}

  EventWrite add(const EventNote& note, Clock::TimePoint now, Clock::WallTime wall);
  // The write of this note failed, or its event is gone from the server: the next one is created anew.
  void forget(const EventNote& note);

 private:
  using Key = std::tuple<std::string, EventType, std::string, std::string, std::string>;
  struct Series {
    ObjectKey event;
    int count = 1;
    Clock::TimePoint last;
  };

  static Key key_of_note(const EventNote& note);
  Json first_event(const EventNote& note, const ObjectKey& key, const std::string& time) const;

  EventReporter reporter_;
  std::map<Key, Series> series_;
  std::uint64_t names_given_ = 0;
};

}  // namespace caravan::kube
