#include "planner/schedule/makespan.h"

#include <algorithm>
#include <array>

#include "planner/schedule/generate.h"
#include "planner/schedule/simulate.h"

namespace caravan::planner {
namespace {

constexpr int kTimedStages = 256;
constexpr int64_t kTimedUnits = int64_t{1} << 17;  // some 20 MB

double backward(const PhaseTimes& times) {
  return times.backward_input + times.backward_weight;
}

double slowest(const std::vector<PhaseTimes>& times) {
  return std::ranges::max(times, {}, &PhaseTimes::total).total();
}

// Of one micro-batch that has the pipeline to itself.
double pass(const std::vector<PhaseTimes>& times, double transfer) {
  double seconds = 2 * transfer * static_cast<double>(times.size() - 1);
  for (const PhaseTimes& stage : times) seconds += stage.total();
  return seconds;
}

// Every stage runs all forwards in the same order: the first micro-batch passes every stage, the others
// follow at the pace of the slowest one. Backwards likewise.
double gpipe(const std::vector<PhaseTimes>& times, double transfer, int64_t micro_batches) {
  double forward_pace = 0;
  double backward_pace = 0;
  for (const PhaseTimes& stage : times) {
    forward_pace = std::max(forward_pace, stage.forward);
    backward_pace = std::max(backward_pace, backward(stage));
  }
  return pass(times, transfer) + static_cast<double>(micro_batches - 1) * (forward_pace + backward_pace);
}

// A number for each stage, those of even and of odd stages next to each other; the ends of the pipeline have
// neighbours that never keep anybody waiting.
class ByStage {
 public:
  explicit ByStage(int stages) {
    for (auto& half : halves_) half.assign(static_cast<size_t>(stages) / 2 + 3, 0);
  }

  // stage: -1 to stages.
  double* at(int stage) { return &halves_[(stage + 2) % 2][(stage + 2) / 2]; }

 private:
  std::array<std::vector<double>, 2> halves_;
};

// 1F1B in waves, as a systolic array: in wave s + 2m stage s runs the forward of micro-batch m, in wave
// 2m + 2p - 1 - s the backward. What an op waits for was made by its neighbour in the wave before, or
// earlier by its own stage, so the ops of a wave, all on stages of one parity, do not wait for each other.
class OneFOneBWaves {
 public:
  OneFOneBWaves(const std::vector<PhaseTimes>& times, double transfer)
      : stages_(static_cast<int>(times.size())),
        transfer_(transfer),
        forward_(stages_),
        backward_(stages_),
        forward_end_(stages_),
        backward_end_(stages_) {
    for (int stage = 0; stage < stages_; ++stage) {
      *forward_.at(stage) = times[stage].forward;
      *backward_.at(stage) = backward(times[stage]);
    }
    *forward_end_.at(-1) = *backward_end_.at(stages_) = -transfer;
  }

  double run(int micro_batches) {
    const int others = 2 * (micro_batches - 1);
    for (int wave = 0; wave <= others + 2 * stages_ - 1; ++wave) {
      // Stages whose micro-batch exists.
      const int first = std::max(wave % 2, wave - others);
      advance(first, std::min(wave, stages_ - 1), forward_, forward_end_, backward_end_, -1);
      const int turn = 2 * stages_ - 1 - wave;
      const int first_back = std::max((wave + 1) % 2, turn);
      advance(first_back, std::min(turn + others, stages_ - 1), backward_, backward_end_, forward_end_, +1);
    }
    return *backward_end_.at(0);
  }

 private:
  // The op of every second stage from first to last: after its neighbour's and its stage's earlier ops.
  void advance(int first, int last, ByStage& work, ByStage& end, ByStage& end_of_others,
               int towards_neighbour) {
    if (first > last) return;
    const int count = (last - first) / 2 + 1;
    const double* seconds = work.at(first);
    const double* other = end_of_others.at(first);
    const double* neighbour = end.at(first + towards_neighbour);
    double* own = end.at(first);
    for (int i = 0; i < count; ++i)
      own[i] = std::max(std::max(own[i], other[i]), neighbour[i] + transfer_) + seconds[i];
  }

  int stages_;
  double transfer_;
  ByStage forward_;
  ByStage backward_;
  ByStage forward_end_;
  ByStage backward_end_;
};

double timed(ScheduleSpec spec, const OpTimes& times, int micro_batches) {
  if (spec.kind == ScheduleKind::OneFOneB)
    return OneFOneBWaves(times.groups, times.transfer).run(micro_batches);
  spec.micro_batches = micro_batches;
  const int under_way = has_fixed_order(spec.kind) ? kAnyNumber : messages_under_way(spec.kind);
  const Schedule schedule = generate_schedule(spec, times);
  return validates_afterwards(spec.kind) ? period(schedule, times, messages_under_way(spec.kind))
                                         : simulate(schedule, times, under_way).makespan;
}

std::vector<PhaseTimes> stages_of(const ScheduleSpec& spec, const OpTimes& times) {
  std::vector<PhaseTimes> stages;
  stages.reserve(spec.stages);
  for (int stage = 0; stage < spec.stages; ++stage) stages.push_back(times.of_stage(spec.map(), stage));
  return stages;
}

// No stage ends before its own work is done, what fills the pipeline up to it and what empties it again;
// while that empties, gradients of weights that waited keep it busy. Where steps overlap, nothing but its own
// work bounds a stage.
double least(const ScheduleSpec& spec, const OpTimes& times) {
  const bool fills_the_end = splits_backward(spec.kind);
  const bool overlaps = validates_afterwards(spec.kind);
  double bound = 0;
  double around = 0;
  for (int stage = 0; stage < spec.stages; ++stage) {
    const PhaseTimes all = times.of_stage(spec.map(), stage);
    bound = std::max(bound, around + static_cast<double>(spec.micro_batches) * all.total());
    if (overlaps) continue;
    const PhaseTimes unit = spec.chunks == 1 ? times.at(stage, 0) : 1.0 / spec.chunks * all;
    around += fills_the_end ? unit.forward + times.transfer : unit.total() + 2 * times.transfer;
  }
  return bound;
}

// Micro-batches with which a pipeline is full.
int full_round(const ScheduleSpec& spec) {
  return (spec.stages + spec.segments - 1) / spec.segments;
}

double extrapolated(const ScheduleSpec& spec, const OpTimes& times) {
  const int round = full_round(spec);
  const double at_two = timed(spec, times, 2 * round);
  const double at_three = timed(spec, times, 3 * round);
  const double rounds = static_cast<double>(spec.micro_batches - 3 * round) / round;
  return at_three + rounds * (at_three - at_two);
}

// 1F1B is timed without a list of its ops.
bool is_timed(const ScheduleSpec& spec) {
  if (spec.stages > kTimedStages) return false;
  if (spec.kind == ScheduleKind::OneFOneB) return true;
  const int64_t each = int64_t{spec.stages} * spec.chunks * spec.segments;
  return each * std::min(spec.micro_batches, 3 * full_round(spec)) <= kTimedUnits;
}

// As if every stage were as slow as the slowest.
double estimated(const ScheduleSpec& spec, const OpTimes& times) {
  const double filling =
      validates_afterwards(spec.kind) ? 0 : static_cast<double>(spec.stages - 1) / spec.chunks;
  return (static_cast<double>(spec.micro_batches) + filling) *
         (slowest(stages_of(spec, times)) + 2 * times.transfer);
}

}  // namespace

double makespan(const ScheduleSpec& spec, const OpTimes& times) {
  if (spec.kind == ScheduleKind::GPipe) return gpipe(times.groups, times.transfer, spec.micro_batches);
  if (!is_timed(spec)) return estimated(spec, times);
  const bool is_short = spec.micro_batches <= 3 * full_round(spec);
  const double found = is_short ? timed(spec, times, spec.micro_batches) : extrapolated(spec, times);
  return std::max(found, least(spec, times));
}

}  // namespace caravan::planner
