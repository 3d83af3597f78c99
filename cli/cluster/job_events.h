// Events of the cluster about a job and its pods, as lines for people. Pure.
#pragma once

#include <string>
#include <vector>

#include "operator/api/job_object.h"
#include "operator/view/event_view.h"

namespace caravan::cli {

// "pod NAME", or empty for the job.
std::string about(const controller::EventView& event);

// A table, the oldest first; empty without events.
std::string event_table(const std::vector<controller::EventView>& events, controller::TimePoint now,
                        int width);

}  // namespace caravan::cli
