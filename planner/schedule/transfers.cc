#include "planner/schedule/transfers.h"

#include <deque>
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

  void reserve(std::size_t ops) {
    constexpr std::size_t kMostOfAnOp = 5;
    actions_.reserve(kMostOfAnOp * ops);
  }

  // next: the op behind it, whose input begins to arrive while this one runs.
  void add(const Op& op, const Op* next) {
    const Passage passage = passage_of(op);
    if (actions_.empty()) post_receive(op);
    if (passage.sends(stage_)) make_room(channel(passage.direction, *passage.to));
    if (passage.from) {
      const auto type = passage.receives(stage_) ? ActionType::AwaitReceive : ActionType::Take;
      add_action({type, passage.direction, *passage.from, passage.tag, op});
    }
    if (next != nullptr) post_receive(*next);
    add_action({.type = ActionType::Compute, .direction = passage.direction, .op = op});
    if (!passage.to) return;
    const auto type = passage.sends(stage_) ? ActionType::StartSend : ActionType::HandOver;
    add_action({type, passage.direction, *passage.to, passage.tag_behind, op});
    if (passage.sends(stage_)) channel(passage.direction, *passage.to).under_way.push_back(op);
  }

  void finish_sends() {
    for (Channel& each : channels_) {
      while (!each.under_way.empty()) add_finish(each);
    }
  }

  std::vector<Action> take() { return std::move(actions_); }

 private:
  // Messages of a direction to a neighbour.
  struct Channel {
    Direction direction = Direction::Activations;
    int peer = 0;
    std::deque<Op> under_way{};  // the ops that made them
  };

  // Of a stage's few.
  Channel& channel(Direction direction, int peer) {
    for (Channel& each : channels_) {
      if (each.direction == direction && each.peer == peer) return each;
    }
    return channels_.emplace_back(Channel{.direction = direction, .peer = peer});
  }

  std::optional<int> stage_of(int group) const {
    if (group < 0 || group >= map_.groups()) return std::nullopt;
    return map_.stage_of(group);
  }

  // What an op takes and makes: of which stages, and how the messages are called.
  struct Passage {
    Direction direction = Direction::Activations;
    std::optional<int> from = {};
    std::optional<int> to = {};
    int tag = 0;
    int tag_behind = 0;

    bool receives(int stage) const { return from && *from != stage; }
    bool sends(int stage) const { return to && *to != stage; }
  };

  Passage passage_of(const Op& op) const {
    if (op.type == OpType::BackwardWeight) return {};
    const int group = map_.group_of(stage_, op.chunk);
    const bool forward = op.type == OpType::Forward;
    const int before = forward ? group - 1 : group + 1;
    const int behind = forward ? group + 1 : group - 1;
    return {.direction = forward ? Direction::Activations : Direction::Gradients,
            .from = stage_of(before),
            .to = stage_of(behind),
            .tag = tag_of(op, group),
            .tag_behind = tag_of(op, behind)};
  }

  // Of the message that a group is sent for an op like this one.
  int tag_of(const Op& op, int reader) const {
    const int unit = op.micro_batch * segments_ + op.segment;
    return unit * map_.chunks + map_.chunk_of(reader);
  }

  void post_receive(const Op& op) {
    const Passage passage = passage_of(op);
    if (passage.receives(stage_))
      add_action({ActionType::PostReceive, passage.direction, *passage.from, passage.tag, op});
  }

  void make_room(Channel& to) {
    if (static_cast<int>(to.under_way.size()) >= messages_under_way_) add_finish(to);
  }

  void add_finish(Channel& to) {
    add_action({.type = ActionType::FinishSend,
                .direction = to.direction,
                .peer = to.peer,
                .op = to.under_way.front()});
    to.under_way.pop_front();
  }

  void add_action(const Action& action) { actions_.push_back(action); }

  const ChunkMap map_;
  const int segments_;
  const int stage_;
  const int messages_under_way_;
  std::vector<Channel> channels_;
  std::vector<Action> actions_;
};

}  // namespace

std::vector<Action> add_transfers(std::span<const Op> ops, const StagePlace& place, int messages_under_way) {
  TransferPass pass(place, messages_under_way);
  pass.reserve(ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) pass.add(ops[i], i + 1 < ops.size() ? &ops[i + 1] : nullptr);
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
