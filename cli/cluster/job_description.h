// What there is to say of a job: its story in conditions, the plan, what was predicted beside what is, its
// pods and events. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/cluster/job_events.h"
#include "operator/api/job_object.h"
#include "operator/view/event_view.h"
#include "operator/view/pod_view.h"

namespace caravan::cli {

struct JobFacts {
  controller::Job job = {};
  std::vector<controller::PodView> pods = {};
  std::vector<controller::EventView> events = {};
  controller::TimePoint now = {};
};

std::string describe_job(const JobFacts& facts, int width);

// One word or two: "Running", "Pending: no machine", "Failed: exit code 137".
std::string state_of_pod(const controller::PodView& pod);

}  // namespace caravan::cli
