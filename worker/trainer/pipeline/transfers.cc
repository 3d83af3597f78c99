#include "worker/trainer/pipeline/transfers.h"

#include <stdexcept>

namespace caravan::trainer {
namespace {

using planner::Op;
using planner::OpType;

// Differs for every message between two stages.
int tag_of(const Op& op, Direction direction) {
  return op.micro_batch * 2 + (direction == Direction::Gradients ? 1 : 0);
}

class TransferPass {
 public:
  TransferPass(const planner::ChunkMap& map, int stage)
      : map_(map), stage_(stage), group_(map.group_of(stage, /*chunk=*/0)) {}

  void add(const Op& op) {
    switch (op.type) {
      case OpType::Forward:
        return add_with_transfers(op, Direction::Activations, group_ - 1, group_ + 1);
      case OpType::Backward:
      case OpType::BackwardInput:
        return add_with_transfers(op, Direction::Gradients, group_ + 1, group_ - 1);
      case OpType::BackwardWeight:
        return add_action(ActionType::Compute, op, Direction::Gradients, stage_);
    }
  }

  void finish_sends() {
    if (exists(group_ + 1)) add_transfer(ActionType::FinishSend, {}, Direction::Activations, group_ + 1);
    if (exists(group_ - 1)) add_transfer(ActionType::FinishSend, {}, Direction::Gradients, group_ - 1);
  }

  std::vector<Action> take() { return std::move(actions_); }

 private:
  bool exists(int group) const { return group >= 0 && group < map_.groups(); }

  void add_with_transfers(const Op& op, Direction direction, int from, int to) {
    if (exists(from)) add_transfer(ActionType::PostReceive, op, direction, from);
    if (exists(to)) add_transfer(ActionType::FinishSend, op, direction, to);
    if (exists(from)) add_transfer(ActionType::AwaitReceive, op, direction, from);
    add_action(ActionType::Compute, op, direction, stage_);
    if (exists(to)) add_transfer(ActionType::StartSend, op, direction, to);
  }

  void add_transfer(ActionType type, const Op& op, Direction direction, int group) {
    add_action(type, op, direction, map_.stage_of(group));
  }

  void add_action(ActionType type, const Op& op, Direction direction, int peer) {
    actions_.push_back(
        {.type = type, .direction = direction, .peer = peer, .tag = tag_of(op, direction), .op = op});
  }

  const planner::ChunkMap map_;
  const int stage_;
  const int group_;
  std::vector<Action> actions_;
};

}  // namespace

std::vector<Action> add_transfers(const planner::Schedule& schedule, int stage) {
  if (schedule.chunks != 1 || schedule.segments != 1)
    throw std::logic_error("the executor runs schedules of one chunk and one segment");
  TransferPass pass(schedule.map(), stage);
  for (const Op& op : schedule.ops[static_cast<std::size_t>(stage)]) pass.add(op);
  pass.finish_sends();
  return pass.take();
}

planner::Schedule forward_only(int stages, int micro_batches) {
  std::vector<Op> ops;
  ops.reserve(static_cast<std::size_t>(micro_batches));
  for (int m = 0; m < micro_batches; ++m) ops.push_back({.type = OpType::Forward, .micro_batch = m});
  return {.stages = stages,
          .micro_batches = micro_batches,
          .ops = std::vector<std::vector<Op>>(static_cast<std::size_t>(stages), ops)};
}

}  // namespace caravan::trainer
