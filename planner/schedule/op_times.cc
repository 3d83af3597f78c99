#include "planner/schedule/op_times.h"

namespace caravan::planner {

double PhaseTimes::of(OpType type) const {
  switch (type) {
    case OpType::Forward:
      return forward;
    case OpType::BackwardInput:
      return backward_input;
    case OpType::BackwardWeight:
      return backward_weight;
    case OpType::Backward:
      return backward_input + backward_weight;
  }
  return 0;
}

PhaseTimes& PhaseTimes::operator+=(const PhaseTimes& other) {
  forward += other.forward;
  backward_input += other.backward_input;
  backward_weight += other.backward_weight;
  return *this;
}

PhaseTimes operator*(double times, const PhaseTimes& each) {
  return {.forward = times * each.forward,
          .backward_input = times * each.backward_input,
          .backward_weight = times * each.backward_weight};
}

PhaseTimes OpTimes::of_stage(const ChunkMap& map, int stage) const {
  PhaseTimes sum{.forward = 0, .backward_input = 0, .backward_weight = 0};
  for (int chunk = 0; chunk < map.chunks; ++chunk) {
    for (int segment = 0; segment < segments; ++segment) sum += at(map.group_of(stage, chunk), segment);
  }
  return sum;
}

OpTimes even_times(const std::vector<PhaseTimes>& stages, const ChunkMap& map, int segments,
                   double transfer) {
  OpTimes times{.groups = {}, .segments = segments, .transfer = transfer};
  for (int group = 0; group < map.groups(); ++group) {
    const PhaseTimes part = 1.0 / (map.chunks * segments) * stages[map.stage_of(group)];
    times.groups.insert(times.groups.end(), segments, part);
  }
  return times;
}

}  // namespace caravan::planner
