// Writes the op lists of a pipeline schedule.
//
// What check_spec accepts is written so that validate_schedule accepts it, and holds what promised_peak says.
// Pure: the same spec and times give the same lists everywhere.
// Sources: docs/design.md, "Pipeline schedules".
#pragma once

#include <string>
#include <vector>

#include "common/result.h"
#include "planner/schedule/op_times.h"
#include "planner/schedule/schedule.h"

namespace caravan::planner {

// Bad input where there is no such schedule; the message says what would do.
Status check_spec(const ScheduleSpec& spec);

// What is to be known of a schedule that is good otherwise, or nothing.
std::string caution(const ScheduleSpec& spec);

// Without group_times, schedules that have no fixed order are arranged for ops that all take as long.
Schedule generate_schedule(const ScheduleSpec& spec);

// Without group_times they are arranged for these times.
Schedule generate_schedule(const ScheduleSpec& spec, const OpTimes& times);

// The ops of one stage of the first.
std::vector<Op> generate_stage(const ScheduleSpec& spec, int stage);

// Micro-batches of activations that a stage holds at most: one of its chunks or segments counts as its share,
// until the gradients of its weights are done.
double promised_peak(const ScheduleSpec& spec, int stage);

}  // namespace caravan::planner
