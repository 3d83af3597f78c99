#include "planner/schedule/validate.h"

#include <fmt/format.h>

#include <array>
#include <deque>
#include <optional>
#include <stdexcept>

#include "planner/schedule/dependencies.h"
#include "planner/schedule/simulate.h"

namespace caravan::planner {
namespace {

std::string place(const Schedule& schedule, int stage, const Op& op) {
  return fmt::format("stage {}, {}", stage, op_text(op, schedule));
}

bool within_bounds(const Schedule& schedule, const Op& op) {
  return op.micro_batch >= 0 && op.micro_batch < schedule.micro_batches && op.segment >= 0 &&
         op.segment < schedule.segments && op.chunk >= 0 && op.chunk < schedule.chunks;
}

struct UnitCount {
  int forward = 0, backward = 0, backward_input = 0, backward_weight = 0;

  bool complete() const {
    const bool fused = backward == 1 && backward_input == 0 && backward_weight == 0;
    const bool split = backward == 0 && backward_input == 1 && backward_weight == 1;
    return forward == 1 && (fused || split);
  }
};

void count(UnitCount& unit, OpType type) {
  switch (type) {
    case OpType::Forward:
      ++unit.forward;
      break;
    case OpType::Backward:
      ++unit.backward;
      break;
    case OpType::BackwardInput:
      ++unit.backward_input;
      break;
    case OpType::BackwardWeight:
      ++unit.backward_weight;
      break;
  }
}

Status check_each_unit_once(const Schedule& schedule) {
  if (schedule.ops.size() != static_cast<size_t>(schedule.stages)) {
    return failure(
        fmt::format("the schedule has {} op lists for {} stages", schedule.ops.size(), schedule.stages));
  }
  std::vector<UnitCount> units(static_cast<size_t>(unit_count(schedule)));
  for (int stage = 0; stage < schedule.stages; ++stage) {
    for (const Op& op : schedule.ops[stage]) {
      if (!within_bounds(schedule, op)) {
        return failure(fmt::format("{}: outside the schedule's micro-batches, segments or chunks",
                                   place(schedule, stage, op)));
      }
      count(units[unit_of(schedule, schedule.map().group_of(stage, op.chunk), op.micro_batch, op.segment)],
            op.type);
    }
  }
  for (int group = 0; group < schedule.map().groups(); ++group) {
    for (int m = 0; m < schedule.micro_batches; ++m) {
      for (int segment = 0; segment < schedule.segments; ++segment) {
        const UnitCount& unit = units[unit_of(schedule, group, m, segment)];
        if (unit.complete()) continue;
        return failure(
            fmt::format("stage {}: micro-batch {} segment {} chunk {} has {} forwards, {} backwards, {} of "
                        "the input, {} of the weights",
                        schedule.map().stage_of(group), m, segment, group / schedule.stages, unit.forward,
                        unit.backward, unit.backward_input, unit.backward_weight));
      }
    }
  }
  return {};
}

// Runs the lists over channels, one for the activations and one for the gradients that a stage sends to a
// neighbour. A channel keeps the order and gives a message up only to the op that waits for it.
class Machine {
 public:
  Machine(const Schedule& schedule, int most_under_way)
      : schedule_(schedule),
        most_under_way_(most_under_way),
        made_{std::vector<bool>(unit_count(schedule)), std::vector<bool>(unit_count(schedule))},
        channels_(channel_count(schedule)),
        stages_(schedule.stages) {}

  Status run() {
    bool advanced = true;
    while (advanced) {
      advanced = false;
      for (int stage = 0; stage < schedule_.stages; ++stage) {
        while (step(stage)) advanced = true;
      }
    }
    for (int stage = 0; stage < schedule_.stages; ++stage) {
      if (!done(stage)) return failure(stuck_from(stage));
    }
    return {};
  }

 private:
  struct Message {
    int unit = 0;
    Op op;  // that made it
    int to = 0;
    OutputKind kind = OutputKind::Activation;
  };
  struct StageState {
    size_t next = 0;
    std::optional<Message> waiting_to_send;
  };
  struct Obstacle {
    std::string text;
    int stage = 0;  // whose it is
  };

  bool done(int stage) const { return stages_[stage].next == schedule_.ops[stage].size(); }

  std::deque<Message>& channel(int from, int to, OutputKind kind) {
    return channels_[channel_of(schedule_, from, to, kind)];
  }

  bool arrived(int stage, const Dependency& needed) {
    if (needed.stage == stage) return made_[static_cast<size_t>(needed.kind)][needed.unit];
    const auto& messages = channel(needed.stage, stage, needed.kind);
    return !messages.empty() && messages.front().unit == needed.unit;
  }

  bool step(int stage) {
    StageState& state = stages_[stage];
    if (state.waiting_to_send) {
      auto& messages = channel(stage, state.waiting_to_send->to, state.waiting_to_send->kind);
      if (static_cast<int>(messages.size()) >= most_under_way_) return false;
      messages.push_back(*state.waiting_to_send);
      state.waiting_to_send.reset();
      return true;
    }
    if (done(stage)) return false;
    const Op& op = schedule_.ops[stage][state.next];
    const Dependencies needs = dependencies_of(schedule_, stage, op);
    for (const Dependency& needed : needs) {
      if (!arrived(stage, needed)) return false;
    }
    for (const Dependency& needed : needs) {
      if (needed.stage != stage) channel(needed.stage, stage, needed.kind).pop_front();
    }
    finish(stage, op);
    ++state.next;
    return true;
  }

  void finish(int stage, const Op& op) {
    const auto output = output_of(schedule_, stage, op);
    if (!output) return;
    made_[static_cast<size_t>(output->kind)][output->unit] = true;
    if (output->taken_by && *output->taken_by != stage) {
      stages_[stage].waiting_to_send =
          Message{.unit = output->unit, .op = op, .to = *output->taken_by, .kind = output->kind};
    }
  }

  // Who waits for what, until it comes round.
  std::string stuck_from(int first) {
    std::string story;
    std::vector<bool> told(schedule_.stages);
    for (int stage = first; !told[stage] && !done(stage);) {
      told[stage] = true;
      const Obstacle obstacle = obstacle_of(stage);
      const Op& op = schedule_.ops[stage][stages_[stage].next];
      if (!story.empty()) story += "; ";
      story += fmt::format("{}: never runs, {}", place(schedule_, stage, op), obstacle.text);
      stage = obstacle.stage;
    }
    return story;
  }

  Obstacle obstacle_of(int stage) {
    const StageState& state = stages_[stage];
    if (state.waiting_to_send) {
      const Message& message = *state.waiting_to_send;
      return {.text = fmt::format("an earlier send to stage {}, of {}, is never received", message.to,
                                  op_text(message.op, schedule_)),
              .stage = message.to};
    }
    for (const Dependency& needed : dependencies_of(schedule_, stage, schedule_.ops[stage][state.next])) {
      if (arrived(stage, needed)) continue;
      std::string text =
          fmt::format("it waits for {} from stage {}",
                      needed.kind == OutputKind::Activation ? "activations" : "a gradient", needed.stage);
      if (needed.stage == stage) return {.text = text + ", where that stands behind it", .stage = stage};
      const auto& messages = channel(needed.stage, stage, needed.kind);
      if (!messages.empty())
        text += ", which sent those of " + op_text(messages.front().op, schedule_) + " first";
      return {.text = text, .stage = needed.stage};
    }
    throw std::logic_error("a stage that can go on was taken for one that waits");
  }

  const Schedule& schedule_;
  const int most_under_way_;
  std::array<std::vector<bool>, 2> made_;  // by OutputKind
  std::vector<std::deque<Message>> channels_;
  std::vector<StageState> stages_;
};

Status check_promise(const Schedule& schedule, const std::vector<double>& promised_peaks) {
  constexpr double kRounding = 1e-9;
  for (size_t stage = 0; stage < promised_peaks.size(); ++stage) {
    const double peak = peak_in_flight(schedule, static_cast<int>(stage));
    if (peak > promised_peaks[stage] + kRounding) {
      return failure(fmt::format("stage {}: holds {} micro-batches at once, promised were {}", stage, peak,
                                 promised_peaks[stage]));
    }
  }
  return {};
}

}  // namespace

Status validate_schedule(const Schedule& schedule, const ExecutionLimits& limits) {
  if (auto status = check_each_unit_once(schedule); !status) return status;
  if (auto status = Machine(schedule, limits.messages_under_way).run(); !status) return status;
  return check_promise(schedule, limits.peaks);
}

}  // namespace caravan::planner
