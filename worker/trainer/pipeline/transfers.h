// The pass that adds sends and receives to a stage's op list.
//
// A stage receives what an op needs right before it, and sends what the op made right after it. At most one
// send of activations and one of gradients is under way: the one before is finished when the next op of its
// direction is about to run, so what a stage holds at any place of the list is known beforehand. A receive is
// posted before anything is waited for, which is all that planner::validate_schedule asks of an executor for
// a schedule that it accepts not to hang.
//
// Pure. Assumes one chunk and one segment per stage.
#pragma once

#include <vector>

#include "planner/schedule/schedule.h"

namespace caravan::trainer {

enum class Direction { Activations, Gradients };  // to the stage behind, to the stage before

enum class ActionType {
  PostReceive,
  FinishSend,  // of the message before in this direction, if there is one
  AwaitReceive,
  Compute,
  StartSend,  // of what Compute made
};

struct Action {
  ActionType type = ActionType::Compute;
  Direction direction = Direction::Activations;  // of transfers
  int peer = 0;                                  // stage
  int tag = 0;
  planner::Op op;  // the op that the action stands by
  bool operator==(const Action&) const = default;
};

std::vector<Action> add_transfers(const planner::Schedule& schedule, int stage);

// Forwards only, for evaluation.
planner::Schedule forward_only(int stages, int micro_batches);

}  // namespace caravan::trainer
