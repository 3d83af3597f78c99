#include "planner/schedule/post_validation.h"

#include <algorithm>
#include <span>

#include "planner/schedule/dependencies.h"

namespace caravan::planner {
namespace {

// Runs every stage's list until its first backward or loss, or until it would have to wait for a stage that
// has come to its own.
class LeadingRun {
 public:
  LeadingRun(const Schedule& schedule, int messages_under_way)
      : schedule_(schedule),
        messages_under_way_(messages_under_way),
        done_(unit_count(schedule)),
        readers_(channel_count(schedule)),
        counts_(schedule.stages) {
    bool advanced = true;
    while (advanced) {
      advanced = false;
      for (int stage = 0; stage < schedule.stages; ++stage) {
        while (step(stage)) advanced = true;
      }
    }
  }

  const std::vector<int>& counts() const { return counts_; }

  // Whether leading forwards of other stages send the op what it takes.
  bool sends_for(int stage, const Op& op) const {
    return op.type == OpType::Forward &&
           std::ranges::any_of(dependencies_of(schedule_, stage, op), [&](const Dependency& needed) {
             return needed.stage != stage && done_[needed.unit];
           });
  }

 private:
  bool step(int stage) {
    const std::vector<Op>& ops = schedule_.ops[stage];
    const auto next = static_cast<std::size_t>(counts_[stage]);
    if (next == ops.size() || ops[next].type != OpType::Forward) return false;
    const Op& op = ops[next];
    const int group = schedule_.map().group_of(stage, op.chunk);
    if (group + 1 == schedule_.map().groups()) return false;
    for (const Dependency& needed : dependencies_of(schedule_, stage, op)) {
      if (!done_[needed.unit]) return false;
    }
    std::vector<int>* channel = channel_behind(stage, op);
    if (channel != nullptr && !has_room(*channel)) return false;
    if (channel != nullptr) channel->push_back(unit_of(schedule_, group + 1, op.micro_batch, op.segment));
    done_[unit_of(schedule_, group, op.micro_batch, op.segment)] = true;
    ++counts_[stage];
    return true;
  }

  // Where the op's message goes, if it makes one.
  std::vector<int>* channel_behind(int stage, const Op& op) {
    const std::optional<int> to = output_of(schedule_, stage, op)->taken_by;
    if (to.value_or(stage) == stage) return nullptr;
    return &readers_[channel_of(schedule_, stage, *to, OutputKind::Activation)];
  }

  bool has_room(const std::vector<int>& channel) const {
    const auto sent = static_cast<int>(channel.size());
    return sent < messages_under_way_ || done_[channel[sent - messages_under_way_]];
  }

  const Schedule& schedule_;
  const int messages_under_way_;
  std::vector<bool> done_;                 // by unit
  std::vector<std::vector<int>> readers_;  // units that take what was sent, by channel
  std::vector<int> counts_;
};

// The first ops' actions end with what the last one sends: what else stands before the next op is that one's.
std::size_t end_of_ops(const std::vector<Action>& actions, int count) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const ActionType type = actions[i].type;
    if (type == ActionType::Compute && count-- == 0) break;
    if (type == ActionType::Compute || type == ActionType::StartSend || type == ActionType::HandOver)
      end = i + 1;
  }
  return end;
}

// Sends that are started and not finished, oldest first.
std::vector<Action> sends_under_way(const std::vector<Action>& actions) {
  std::vector<Action> under_way;
  for (const Action& action : actions) {
    if (action.type == ActionType::StartSend) under_way.push_back(action);
    if (action.type != ActionType::FinishSend) continue;
    under_way.erase(std::ranges::find_if(under_way, [&](const Action& each) {
      return each.direction == action.direction && each.peer == action.peer;
    }));
  }
  return under_way;
}

std::vector<Action> recall_of(const StepActions& step, const LeadingRun& run, int stage) {
  std::vector<Action> received;
  for (const Action& action : step.rest) {
    if (action.type == ActionType::AwaitReceive && run.sends_for(stage, action.op))
      received.push_back(action);
  }
  std::vector<Action> recall;
  const auto add = [&](Action action, ActionType type) {
    action.type = type;
    recall.push_back(action);
  };
  for (const Action& each : received) add(each, ActionType::PostReceive);
  for (const Action& each : sends_under_way(step.leading)) add(each, ActionType::FinishSend);
  for (const Action& each : received) add(each, ActionType::AwaitReceive);
  return recall;
}

}  // namespace

std::vector<int> leading_forwards(const Schedule& schedule, int messages_under_way) {
  return LeadingRun(schedule, messages_under_way).counts();
}

StepActions split_step(const Schedule& schedule, int stage, int messages_under_way) {
  const LeadingRun run(schedule, messages_under_way);
  const auto leading = std::span(schedule.ops[stage]).first(run.counts()[stage]);
  const std::vector<Action> all = add_transfers(schedule, stage, messages_under_way);
  const std::size_t cut = end_of_ops(all, run.counts()[stage]);
  StepActions step;
  // Nobody waits for a receive before the rest, so it is posted there.
  for (const Action& action : std::span(all).first(cut)) {
    const bool is_early =
        action.type == ActionType::PostReceive && std::ranges::find(leading, action.op) == leading.end();
    (is_early ? step.rest : step.leading).push_back(action);
  }
  step.rest.insert(step.rest.end(), all.begin() + static_cast<std::ptrdiff_t>(cut), all.end());
  step.recall = recall_of(step, run, stage);
  return step;
}

}  // namespace caravan::planner
