#include "planner/schedule/simulate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "planner/schedule/dependencies.h"
#include "planner/schedule/post_validation.h"

namespace caravan::planner {
namespace {

constexpr double kUnknown = -1;

// Of a step that others came before.
struct Beginning {
  std::vector<double> stages;  // when each is free for it
  double known = 0;            // how the step before ended
  std::vector<int> leading{};  // ops of each stage that need not wait for that
};

class Timeline {
 public:
  Timeline(const Schedule& schedule, const OpTimes& times, int messages_under_way = kAnyNumber)
      : Timeline(schedule, times, messages_under_way,
                 {.stages = std::vector<double>(schedule.stages, 0),
                  .leading = std::vector<int>(schedule.stages, 0)}) {}

  Timeline(const Schedule& schedule, const OpTimes& times, int messages_under_way, Beginning beginning)
      : schedule_(schedule),
        times_(times),
        messages_under_way_(messages_under_way),
        beginning_(std::move(beginning)),
        ready_{std::vector<double>(unit_count(schedule), kUnknown),
               std::vector<double>(unit_count(schedule), kUnknown)},
        asked_for_(ready_),
        sent_(channel_count(schedule)),
        next_(schedule.stages, 0),
        ops_(schedule.stages),
        last_end_(beginning_.stages) {}

  void run() {
    bool advanced = true;
    while (advanced) {
      advanced = false;
      for (int stage = 0; stage < schedule_.stages; ++stage) {
        while (step(stage)) advanced = true;
      }
    }
  }

  const std::vector<double>& ends() const { return last_end_; }
  double span(int stage) const { return last_end_[stage] - ops_[stage].front().start; }
  std::vector<std::vector<TimedOp>> ops() && { return std::move(ops_); }
  double makespan() const {
    for (int stage = 0; stage < schedule_.stages; ++stage) {
      if (next_[stage] < schedule_.ops[stage].size()) return std::numeric_limits<double>::infinity();
    }
    return *std::ranges::max_element(last_end_);
  }

 private:
  using ByKind = std::array<std::vector<double>, 2>;

  static double& at(ByKind& times, OutputKind kind, int unit) {
    return times[static_cast<size_t>(kind)][unit];
  }

  // When everything that the op waits for is there; nothing while one of them is not made yet.
  std::optional<double> inputs_of(int stage, const Op& op) {
    const bool leads = next_[stage] < static_cast<size_t>(beginning_.leading[stage]);
    double start = leads ? last_end_[stage] : std::max(last_end_[stage], beginning_.known);
    bool known = true;
    for (const Dependency& needed : dependencies_of(schedule_, stage, op)) {
      const bool is_message = needed.stage != stage;
      if (is_message) at(asked_for_, needed.kind, needed.unit) = last_end_[stage];
      const double made = at(ready_, needed.kind, needed.unit);
      known = known && made != kUnknown;
      start = std::max(start, made + (is_message ? times_.transfer : 0));
    }
    return known ? std::optional(start) : std::nullopt;
  }

  // When a message less is under way than may be; nothing while that is not known.
  std::optional<double> room_for(int stage, const std::optional<Output>& output) {
    if (!output || output->taken_by.value_or(stage) == stage) return 0;
    const std::vector<int>& units = sent_[channel_of(schedule_, stage, *output->taken_by, output->kind)];
    const auto sent = static_cast<int>(units.size());
    if (sent < messages_under_way_) return 0;
    const int oldest = units[sent - messages_under_way_];
    const double asked = at(asked_for_, output->kind, oldest);
    if (asked == kUnknown) return std::nullopt;
    return std::max(asked, at(ready_, output->kind, oldest) + times_.transfer);
  }

  bool step(int stage) {
    const auto& ops = schedule_.ops[stage];
    if (next_[stage] == ops.size()) return false;
    const Op& op = ops[next_[stage]];
    const auto output = output_of(schedule_, stage, op);
    const auto inputs = inputs_of(stage, op);
    const auto room = room_for(stage, output);
    if (!inputs || !room) return false;
    const double start = std::max(*inputs, *room);
    const double end = start + times_.of(schedule_.map(), stage, op);
    ops_[stage].push_back({.op = op, .start = start, .end = end});
    last_end_[stage] = end;
    ++next_[stage];
    if (!output) return true;
    at(ready_, output->kind, output->unit) = end;
    if (output->taken_by && *output->taken_by != stage)
      sent_[channel_of(schedule_, stage, *output->taken_by, output->kind)].push_back(output->unit);
    return true;
  }

  const Schedule& schedule_;
  const OpTimes& times_;
  const int messages_under_way_;
  const Beginning beginning_;
  ByKind ready_;
  ByKind asked_for_;                    // by the stage that takes it
  std::vector<std::vector<int>> sent_;  // units by channel
  std::vector<size_t> next_;
  std::vector<std::vector<TimedOp>> ops_;
  std::vector<double> last_end_;
};

}  // namespace

double peak_in_flight(const Schedule& schedule, int stage, double weight_share) {
  double held = 0;
  double peak = 0;
  for (const Op& op : schedule.ops[stage]) {
    switch (op.type) {
      case OpType::Forward:
        held += 1;
        break;
      case OpType::BackwardInput:
        held -= 1 - weight_share;
        break;
      case OpType::BackwardWeight:
        held -= weight_share;
        break;
      case OpType::Backward:
        held -= 1;
        break;
    }
    peak = std::max(peak, held);
  }
  return peak / (schedule.chunks * schedule.segments);
}

std::vector<std::vector<TimedOp>> time_ops(const Schedule& schedule, const OpTimes& times) {
  Timeline timeline(schedule, times);
  timeline.run();
  return std::move(timeline).ops();
}

double period(const Schedule& schedule, const OpTimes& times, int messages_under_way) {
  constexpr int kStepsUntilTheyAreAlike =
      3;  // of random stages the third was never another than the hundredth
  const std::vector<int> leading = leading_forwards(schedule, messages_under_way);
  Timeline first(schedule, times, messages_under_way);
  first.run();
  std::vector<double> ends = first.ends();
  double end = first.makespan();
  double taken = end;
  for (int step = 0; step < kStepsUntilTheyAreAlike && std::isfinite(end); ++step) {
    Timeline next(schedule, times, messages_under_way,
                  {.stages = std::move(ends), .known = end, .leading = leading});
    next.run();
    taken = next.makespan() - std::exchange(end, next.makespan());
    ends = next.ends();
  }
  return taken;
}

Simulation simulate(const Schedule& schedule, const OpTimes& times, int messages_under_way) {
  Timeline timeline(schedule, times, messages_under_way);
  timeline.run();
  Simulation result;
  result.makespan = timeline.makespan();
  double busiest = 0;
  for (int stage = 0; stage < schedule.stages; ++stage) {
    const double work = schedule.micro_batches * times.of_stage(schedule.map(), stage).total();
    busiest = std::max(busiest, work);
    result.span_bubble = std::max(result.span_bubble, timeline.span(stage) - work);
    result.peaks.push_back(peak_in_flight(schedule, stage));
  }
  result.bubble = result.makespan - busiest;
  return result;
}

}  // namespace caravan::planner
