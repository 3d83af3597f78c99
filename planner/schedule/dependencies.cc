#include "planner/schedule/dependencies.h"

namespace caravan::planner {

int group_count(const Schedule& schedule) {
  return schedule.stages * schedule.chunks;
}

int group_of(const Schedule& schedule, int stage, int chunk) {
  const bool upwards = schedule.placement == Placement::V && chunk % 2 == 1;
  return chunk * schedule.stages + (upwards ? schedule.stages - 1 - stage : stage);
}

int stage_of_group(const Schedule& schedule, int group) {
  const int chunk = group / schedule.stages;
  const int position = group % schedule.stages;
  const bool upwards = schedule.placement == Placement::V && chunk % 2 == 1;
  return upwards ? schedule.stages - 1 - position : position;
}

int unit_count(const Schedule& schedule) {
  return group_count(schedule) * schedule.micro_batches * schedule.segments;
}

int unit_of(const Schedule& schedule, int group, int micro_batch, int segment) {
  return (group * schedule.micro_batches + micro_batch) * schedule.segments + segment;
}

Dependencies dependencies_of(const Schedule& schedule, int stage, const Op& op) {
  const int group = group_of(schedule, stage, op.chunk);
  Dependencies found;
  const auto wait_for = [&](Product product, int other_group, int segment) {
    found.add({.product = product,
               .unit = unit_of(schedule, other_group, op.micro_batch, segment),
               .stage = stage_of_group(schedule, other_group)});
  };
  switch (op.type) {
    case OpType::Forward:
      if (group > 0) wait_for(Product::Activation, group - 1, op.segment);
      if (op.segment > 0) wait_for(Product::Activation, group, op.segment - 1);
      break;
    case OpType::Backward:
    case OpType::BackwardInput:
      wait_for(Product::Activation, group, op.segment);
      if (group + 1 < group_count(schedule)) wait_for(Product::Gradient, group + 1, op.segment);
      if (op.segment + 1 < schedule.segments) wait_for(Product::Gradient, group, op.segment + 1);
      break;
    case OpType::BackwardWeight:
      wait_for(Product::Gradient, group, op.segment);
      break;
  }
  return found;
}

}  // namespace caravan::planner
