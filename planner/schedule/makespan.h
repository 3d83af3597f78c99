// How long a pipeline works on the micro-batches of one step, until it may begin the next: what simulate
// finds (period, where the schedule validates afterwards), some hundred times faster for GPipe and 1F1B.
//
// GPipe has a closed form. The others are timed op by op for up to three micro-batches a stage; from there
// on each micro-batch adds what those of the last round added, or the slowest stage's time where that is
// more. Pipelines of more than 256 stages, and lists of more ops than fit into some 20 MB, are estimated as
// if every stage were as slow as the slowest: whoever may make a job has an operator plan it.
//
// Pure. Assumes a spec that check_spec accepts.
#pragma once

#include "planner/schedule/op_times.h"

namespace caravan::planner {

double makespan(const ScheduleSpec& spec, const OpTimes& times);

}  // namespace caravan::planner
