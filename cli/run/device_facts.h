// What the planner should know of devices that a job does not describe: on CPUs, that they share this
// machine.
#pragma once

#include "caravan/v1alpha1/job.pb.h"
#include "cli/run/machine.h"
#include "planner/plan.h"

namespace caravan::cli {

planner::DeviceFacts device_facts(const v1alpha1::Resources& resources, const Machine& machine);

}  // namespace caravan::cli
