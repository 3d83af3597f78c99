#include "worker/trainer/comm/nccl/used_ways.h"

#include <set>

#include "planner/schedule/transfers.h"

namespace caravan::trainer {
namespace {

using planner::Action;
using planner::ActionType;

std::set<NeighbourWay> ways_of(const std::vector<Action>& actions, int stage) {
  std::set<NeighbourWay> ways;
  for (const Action& action : actions) {
    if (action.type == ActionType::StartSend)
      ways.insert({action.peer, way_of(action.direction, stage, action.peer)});
    if (action.type == ActionType::PostReceive)
      ways.insert({action.peer, way_of(action.direction, action.peer, stage)});
  }
  return ways;
}

}  // namespace

std::vector<NeighbourWay> used_ways(const planner::Schedule& schedule, int stage) {
  const auto used = ways_of(planner::add_transfers(schedule, stage, planner::kAnyNumber), stage);
  std::vector<NeighbourWay> in_order;
  for (int number = 0; number < kWays; ++number) {
    for (const int peer : neighbours_of(stage, schedule.stages)) {
      const NeighbourWay way{peer, Way{number}};
      if (used.contains(way)) in_order.push_back(way);
    }
  }
  return in_order;
}

}  // namespace caravan::trainer
