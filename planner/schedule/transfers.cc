#include "planner/schedule/transfers.h"

#include <deque>
#include <map>
#include <optional>
#include <utility>

namespace caravan::planner {
namespace {

// Where the ops of a stage that make messages stand in its list.
class Places {
 public:
  Places(const Schedule& schedule, int stage)
      : micro_batches_(schedule.micro_batches),
        segments_(schedule.segments),
        places_(static_cast<std::size_t>(2 * schedule.chunks * micro_batches_ * segments_)) {
    int place = 0;
    for (const Op& op : schedule.ops[stage]) {
      if (op.type != OpType::BackwardWeight) places_[number_of(op)] = place++;
    }
  }

  int of(const Op& op) const { return places_[number_of(op)]; }

 private:
  std::size_t number_of(const Op& op) const {
    const int row = 2 * op.chunk + (op.type == OpType::Forward ? 0 : 1);
    return static_cast<std::size_t>((row * micro_batches_ + op.micro_batch) * segments_ + op.segment);
  }

  const int micro_batches_;
  const int segments_;
  std::vector<int> places_;
};

class TransferPass {
 public:
  TransferPass(const Schedule& schedule, int stage, int messages_under_way)
      : schedule_(schedule), map_(schedule.map()), stage_(stage), messages_under_way_(messages_under_way) {
    constexpr std::size_t kMostOfAnOp = 5;
    actions_.reserve(kMostOfAnOp * schedule.ops[stage].size());
  }

  // next: the op behind it, whose input begins to arrive while this one runs, unless it is made from what
  // this one makes.
  void add(const Op& op, const Op* next) {
    const Passage passage = passage_of(op);
    if (actions_.empty()) post_receive(op);
    if (passage.sends(stage_)) make_room(channel(passage.direction, *passage.to));
    if (passage.from) {
      const auto type = passage.receives(stage_) ? ActionType::AwaitReceive : ActionType::Take;
      add_action({type, passage.direction, *passage.from, passage.tag, op});
    }
    const bool is_answer = next != nullptr && answers(op, *next);
    if (next != nullptr && !is_answer) post_receive(*next);
    add_action({.type = ActionType::Compute, .direction = passage.direction, .op = op});
    if (passage.to) give_away(op, passage);
    if (is_answer) post_receive(*next);
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

  // What an op takes and makes: of which stages and groups, and how the messages are called.
  struct Passage {
    Direction direction = Direction::Activations;
    int before = 0;
    int behind = 0;
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
            .before = before,
            .behind = behind,
            .from = stage_of(before),
            .to = stage_of(behind),
            .tag = tag_of(op, group),
            .tag_behind = tag_of(op, behind)};
  }

  // Of the message that a group is sent for an op like this one.
  int tag_of(const Op& op, int reader) const {
    const int unit = op.micro_batch * schedule_.segments + op.segment;
    return unit * map_.chunks + map_.chunk_of(reader);
  }

  // Whether the stage that gets what this op sends makes next's input behind the op that takes it there. All
  // that comes of a message comes back by the neighbour that got it, but around the stages of an interleaved
  // schedule, where the next op never waits for that.
  bool answers(const Op& op, const Op& next) {
    const Passage made = passage_of(op);
    const Passage taken = passage_of(next);
    if (!made.sends(stage_) || !taken.receives(stage_) || made.to != taken.from) return false;
    const auto on_that_stage = [this](Op same, int group) {
      same.chunk = map_.chunk_of(group);
      return same;
    };
    const Places& places = places_of(*made.to);
    return places.of(on_that_stage(op, made.behind)) <= places.of(on_that_stage(next, taken.before));
  }

  // Of a neighbour.
  const Places& places_of(int stage) {
    const auto found = places_.find(stage);
    return found != places_.end() ? found->second
                                  : places_.emplace(stage, Places(schedule_, stage)).first->second;
  }

  void give_away(const Op& op, const Passage& passage) {
    const auto type = passage.sends(stage_) ? ActionType::StartSend : ActionType::HandOver;
    add_action({type, passage.direction, *passage.to, passage.tag_behind, op});
    if (passage.sends(stage_)) channel(passage.direction, *passage.to).under_way.push_back(op);
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

  const Schedule& schedule_;
  const ChunkMap map_;
  const int stage_;
  const int messages_under_way_;
  std::map<int, Places> places_;  // by neighbour
  std::vector<Channel> channels_;
  std::vector<Action> actions_;
};

}  // namespace

std::vector<Action> add_transfers(const Schedule& schedule, int stage, int messages_under_way) {
  const std::vector<Op>& ops = schedule.ops[stage];
  TransferPass pass(schedule, stage, messages_under_way);
  for (std::size_t i = 0; i < ops.size(); ++i) pass.add(ops[i], i + 1 < ops.size() ? &ops[i + 1] : nullptr);
  pass.finish_sends();
  return pass.take();
}

Schedule forwards_of(Schedule schedule) {
  for (std::vector<Op>& ops : schedule.ops)
    std::erase_if(ops, [](const Op& op) { return op.type != OpType::Forward; });
  return schedule;
}

}  // namespace caravan::planner
