#include "planner/schedule/transfers.h"

#include <map>
#include <optional>
#include <utility>

namespace caravan::planner {
namespace {

class TransferPass {
 public:
  TransferPass(const StagePlace& place, int messages_under_way)
      : map_(place.map),
        segments_(place.segments),
        stage_(place.stage),
        messages_under_way_(messages_under_way) {}

  void add(const Op& op) {
    const int group = map_.group_of(stage_, op.chunk);
    switch (op.type) {
      case OpType::Forward:
        return add_with_transfers(op, Direction::Activations, group - 1, group, group + 1);
      case OpType::Backward:
      case OpType::BackwardInput:
        return add_with_transfers(op, Direction::Gradients, group + 1, group, group - 1);
      case OpType::BackwardWeight:
        return add_action({.type = ActionType::Compute, .op = op});
    }
  }

  void finish_sends() {
    for (auto& [channel, count] : under_way_) {
      for (; count > 0; --count) add_finish(channel, {});
    }
  }

  std::vector<Action> take() { return std::move(actions_); }

 private:
  using Channel = std::pair<Direction, int>;  // and to which stage

  std::optional<int> stage_of(int group) const {
    if (group < 0 || group >= map_.groups()) return std::nullopt;
    return map_.stage_of(group);
  }

  // Of the message that a group is sent for an op like this one.
  int tag_of(const Op& op, int reader) const {
    const int unit = op.micro_batch * segments_ + op.segment;
    return unit * map_.chunks + map_.chunk_of(reader);
  }

  void add_with_transfers(const Op& op, Direction direction, int before, int group, int behind) {
    const auto from = stage_of(before);
    const auto to = stage_of(behind);
    const int tag = tag_of(op, group);
    const bool receives = from && *from != stage_;
    const bool sends = to && *to != stage_;
    if (receives) add_action({ActionType::PostReceive, direction, *from, tag, op});
    if (sends) make_room({direction, *to}, op);
    if (from) add_action({receives ? ActionType::AwaitReceive : ActionType::Take, direction, *from, tag, op});
    add_action({.type = ActionType::Compute, .direction = direction, .op = op});
    if (!to) return;
    add_action(
        {sends ? ActionType::StartSend : ActionType::HandOver, direction, *to, tag_of(op, behind), op});
    if (sends) ++under_way_[{direction, *to}];
  }

  void make_room(const Channel& channel, const Op& op) {
    int& count = under_way_[channel];
    if (count < messages_under_way_) return;
    add_finish(channel, op);
    --count;
  }

  void add_finish(const Channel& channel, const Op& op) {
    add_action(
        {.type = ActionType::FinishSend, .direction = channel.first, .peer = channel.second, .op = op});
  }

  void add_action(const Action& action) { actions_.push_back(action); }

  const ChunkMap map_;
  const int segments_;
  const int stage_;
  const int messages_under_way_;
  std::map<Channel, int> under_way_;
  std::vector<Action> actions_;
};

}  // namespace

std::vector<Action> add_transfers(std::span<const Op> ops, const StagePlace& place, int messages_under_way) {
  TransferPass pass(place, messages_under_way);
  for (const Op& op : ops) pass.add(op);
  pass.finish_sends();
  return pass.take();
}

std::vector<Action> add_transfers(const Schedule& schedule, int stage, int messages_under_way) {
  return add_transfers(schedule.ops[stage],
                       {.map = schedule.map(), .segments = schedule.segments, .stage = stage},
                       messages_under_way);
}

Schedule forwards_of(Schedule schedule) {
  for (std::vector<Op>& ops : schedule.ops)
    std::erase_if(ops, [](const Op& op) { return op.type != OpType::Forward; });
  return schedule;
}

}  // namespace caravan::planner
