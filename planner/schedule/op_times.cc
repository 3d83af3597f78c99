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

PhaseTimes OpTimes::of_stage(const ChunkMap& map, int stage) const {
  PhaseTimes sum{.forward = 0, .backward_input = 0, .backward_weight = 0};
  for (int chunk = 0; chunk < map.chunks; ++chunk) {
    const PhaseTimes& group = groups[map.group_of(stage, chunk)];
    sum.forward += group.forward;
    sum.backward_input += group.backward_input;
    sum.backward_weight += group.backward_weight;
  }
  return sum;
}

OpTimes even_times(const std::vector<PhaseTimes>& stages, const ChunkMap& map, int segments,
                   double transfer) {
  OpTimes times{
      .groups = {}, .segments = std::vector<double>(segments, 1.0 / segments), .transfer = transfer};
  for (int group = 0; group < map.groups(); ++group) {
    const PhaseTimes& stage = stages[map.stage_of(group)];
    times.groups.push_back({.forward = stage.forward / map.chunks,
                            .backward_input = stage.backward_input / map.chunks,
                            .backward_weight = stage.backward_weight / map.chunks});
  }
  return times;
}

}  // namespace caravan::planner
