// How much of a step's op list must be replayed to know the most that a stage ever holds. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/schedule/transfers.h"

namespace caravan::planner {

struct ReplayedOps {
  std::vector<Action> actions;  // of one stage
  int64_t held = 0;  // micro-batches whose forward comes before these ops, and whose backward behind them
};

ReplayedOps replayed_ops(const ScheduleSpec& spec, int stage);

// Of all stages together: cheaper where op lists do not follow from a stage's place alone.
std::vector<ReplayedOps> replayed_ops_of_all(const ScheduleSpec& spec);

}  // namespace caravan::planner
