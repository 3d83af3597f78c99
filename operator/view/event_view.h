// An event of the cluster (events.k8s.io/v1) as people and decisions see it. Absent or strange fields read as
// nothing; texts are fit for a terminal, since events come from whoever may write them. Pure.
#pragma once

#include <string>

#include "kube/api/json.h"

namespace caravan::controller {

struct EventView {
  std::string time = {};  // of the last one of its series
  bool is_warning = false;
  std::string kind = {};  // of what it is about, such as Pod
  std::string name = {};
  std::string reason = {};
  std::string message = {};
  int count = 1;

  bool operator==(const EventView&) const = default;
};

EventView read_event(const kube::Json& event);

// The same as the view's, for those who only sort.
std::string time_of_event(const kube::Json& event);

}  // namespace caravan::controller
