#include "planner/schedule/simulate.h"

#include <algorithm>
#include <optional>

#include "planner/schedule/dependencies.h"

namespace caravan::planner {
namespace {

constexpr double kNotYet = -1;

class Timeline {
 public:
  Timeline(const Schedule& schedule, const OpTimes& times)
      : schedule_(schedule),
        times_(times),
        ready_{std::vector<double>(unit_count(schedule), kNotYet),
               std::vector<double>(unit_count(schedule), kNotYet)},
        next_(schedule.stages, 0),
        ops_(schedule.stages),
        last_end_(schedule.stages, 0) {}

  void run() {
    bool advanced = true;
    while (advanced) {
      advanced = false;
      for (int stage = 0; stage < schedule_.stages; ++stage) {
        while (step(stage)) advanced = true;
      }
    }
  }

  double span(int stage) const { return last_end_[stage] - ops_[stage].front().start; }
  std::vector<std::vector<TimedOp>> ops() && { return std::move(ops_); }
  double makespan() const { return *std::ranges::max_element(last_end_); }

 private:
  // When everything that the op waits for is there; nothing while one of them is not made yet.
  std::optional<double> start_of(int stage, const Op& op) const {
    double start = last_end_[stage];
    for (const Dependency& needed : dependencies_of(schedule_, stage, op)) {
      const double made = ready_[static_cast<size_t>(needed.product)][needed.unit];
      if (made == kNotYet) return std::nullopt;
      start = std::max(start, made + (needed.stage == stage ? 0 : times_.transfer));
    }
    return start;
  }

  bool step(int stage) {
    const auto& ops = schedule_.ops[stage];
    if (next_[stage] == ops.size()) return false;
    const Op& op = ops[next_[stage]];
    const auto start = start_of(stage, op);
    if (!start) return false;
    const double end = *start + times_.of(schedule_.map(), stage, op);
    ops_[stage].push_back({.op = op, .start = *start, .end = end});
    last_end_[stage] = end;
    if (op.type != OpType::BackwardWeight) {
      const Product product = op.type == OpType::Forward ? Product::Activation : Product::Gradient;
      const int group = schedule_.map().group_of(stage, op.chunk);
      ready_[static_cast<size_t>(product)][unit_of(schedule_, group, op.micro_batch, op.segment)] = end;
    }
    ++next_[stage];
    return true;
  }

  const Schedule& schedule_;
  const OpTimes& times_;
  std::array<std::vector<double>, 2> ready_;  // by Product
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

Simulation simulate(const Schedule& schedule, const OpTimes& times) {
  Timeline timeline(schedule, times);
  timeline.run();
  Simulation result;
  result.makespan = timeline.makespan();
  double busiest = 0;
  for (int stage = 0; stage < schedule.stages; ++stage) {
    const double work = schedule.micro_batches * times.of_stage(schedule.map(), stage);
    busiest = std::max(busiest, work);
    result.span_bubble = std::max(result.span_bubble, timeline.span(stage) - work);
    result.peaks.push_back(peak_in_flight(schedule, stage));
  }
  result.bubble = result.makespan - busiest;
  return result;
}

}  // namespace caravan::planner
