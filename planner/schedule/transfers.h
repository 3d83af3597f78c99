// The pass that adds sends and receives to a stage's op list.
//
// A stage posts the receive of what an op needs while the op before it is about to run, so that it arrives
// meanwhile, and sends what an op made right after it; what the next group of layers on the same stage needs
// stays there. What is made from that very message cannot arrive meanwhile: its receive is posted behind the
// send. On a GPU a receive is a kernel that waits, and an op that has the device come to rest, to load a
// kernel or to free memory, would wait for it and never come to its send.
//
// Of the messages to a neighbour in one direction at most so many are under way: before the op that makes one
// more, the oldest is finished. So what a stage holds at any place of the list is known beforehand. A receive
// is posted before anything is waited for, which is all that validate_schedule asks of an executor for a
// schedule that it accepts, for as many messages, not to hang.
//
// The trainer executes these actions, and the planner counts by them what a stage holds. Pure. Assumes a
// valid schedule.
#pragma once

#include <vector>

#include "planner/schedule/schedule.h"

namespace caravan::planner {

enum class Direction { Activations, Gradients };  // to the group of layers behind, to the group before

enum class ActionType {
  PostReceive,
  FinishSend,    // of the oldest message to that peer in this direction
  AwaitReceive,  // of the input of the next Compute
  Take,          // the input of the next Compute, which an op of this stage has handed over
  Compute,
  StartSend,  // of what Compute made
  HandOver,   // of what Compute made, to a later op of this stage
};

struct Action {
  ActionType type = ActionType::Compute;
  Direction direction = Direction::Activations;  // of transfers
  int peer = 0;                                  // stage
  int tag = 0;                                   // differs for all messages that a stage gets in a direction
  Op op;                                         // the op that the action stands by, or whose message it is
  bool operator==(const Action&) const = default;
};

// Looks at the lists of the stage and of its neighbours, the stages before and behind it in the round.
std::vector<Action> add_transfers(const Schedule& schedule, int stage, int messages_under_way);

// The same schedule for evaluation: its forwards in their order.
Schedule forwards_of(Schedule schedule);

}  // namespace caravan::planner
