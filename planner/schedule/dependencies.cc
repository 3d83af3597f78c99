#include "planner/schedule/dependencies.h"

namespace caravan::planner {

int unit_count(const Schedule& schedule) {
  return schedule.map().groups() * schedule.micro_batches * schedule.segments;
}

int unit_of(const Schedule& schedule, int group, int micro_batch, int segment) {
  return (group * schedule.micro_batches + micro_batch) * schedule.segments + segment;
}

Dependencies dependencies_of(const Schedule& schedule, int stage, const Op& op) {
  const ChunkMap map = schedule.map();
  const int group = map.group_of(stage, op.chunk);
  Dependencies found;
  const auto wait_for = [&](Product product, int other_group, int segment) {
    found.add({.product = product,
               .unit = unit_of(schedule, other_group, op.micro_batch, segment),
               .stage = map.stage_of(other_group)});
  };
  switch (op.type) {
    case OpType::Forward:
      if (group > 0) wait_for(Product::Activation, group - 1, op.segment);
      if (op.segment > 0) wait_for(Product::Activation, group, op.segment - 1);
      break;
    case OpType::Backward:
    case OpType::BackwardInput:
      wait_for(Product::Activation, group, op.segment);
      if (group + 1 < map.groups()) wait_for(Product::Gradient, group + 1, op.segment);
      if (op.segment + 1 < schedule.segments) wait_for(Product::Gradient, group, op.segment + 1);
      break;
    case OpType::BackwardWeight:
      wait_for(Product::Gradient, group, op.segment);
      break;
  }
  return found;
}

}  // namespace caravan::planner
