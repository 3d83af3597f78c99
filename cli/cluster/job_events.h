// Events of the cluster about a job and its pods (events.k8s.io/v1), as lines for people. Absent or strange
// fields read as nothing. Pure.
#pragma once

#include <string>
#include <vector>

#include "operator/api/job_object.h"

namespace caravan::cli {

struct EventView {
  std::string time = {};  // of the last one of its series
  bool is_warning = false;
  std::string about = {};  // "pod NAME", or empty for the job
  std::string reason = {};
  std::string message = {};
  int count = 1;
};

EventView read_event(const kube::Json& event);

// A table, the oldest first; empty without events.
std::string event_table(const std::vector<EventView>& events, controller::TimePoint now, int width);

}  // namespace caravan::cli
