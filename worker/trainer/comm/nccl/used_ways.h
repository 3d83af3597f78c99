// The ways (ways.h) that a schedule's messages take: each is a communicator, which takes memory of the device
// and time when it is formed. Pure.
#pragma once

#include <vector>

#include "planner/schedule/schedule.h"
#include "worker/trainer/comm/nccl/ways.h"

namespace caravan::trainer {

// Of a stage, in the order of its first contacts; the neighbours have the same ones from their side. Assumes
// a valid schedule.
std::vector<NeighbourWay> used_ways(const planner::Schedule& schedule, int stage);

}  // namespace caravan::trainer
