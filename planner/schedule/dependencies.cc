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
  const auto wait_for = [&](OutputKind kind, int other_group, int segment) {
    found.add({.kind = kind,
               .unit = unit_of(schedule, other_group, op.micro_batch, segment),
               .stage = map.stage_of(other_group)});
  };
  switch (op.type) {
    case OpType::Forward:
      if (group > 0) wait_for(OutputKind::Activation, group - 1, op.segment);
      if (op.segment > 0) wait_for(OutputKind::Activation, group, op.segment - 1);
      break;
    case OpType::Backward:
    case OpType::BackwardInput:
      wait_for(OutputKind::Activation, group, op.segment);
      if (group + 1 < map.groups()) wait_for(OutputKind::Gradient, group + 1, op.segment);
      if (op.segment + 1 < schedule.segments) wait_for(OutputKind::Gradient, group, op.segment + 1);
      break;
    case OpType::BackwardWeight:
      wait_for(OutputKind::Gradient, group, op.segment);
      break;
  }
  return found;
}

std::optional<Output> output_of(const Schedule& schedule, int stage, const Op& op) {
  if (op.type == OpType::BackwardWeight) return std::nullopt;
  const ChunkMap map = schedule.map();
  const int group = map.group_of(stage, op.chunk);
  const bool forward = op.type == OpType::Forward;
  const int reader = forward ? group + 1 : group - 1;
  Output output{.kind = forward ? OutputKind::Activation : OutputKind::Gradient,
                .unit = unit_of(schedule, group, op.micro_batch, op.segment)};
  if (reader >= 0 && reader < map.groups()) output.taken_by = map.stage_of(reader);
  return output;
}

int channel_of(const Schedule& schedule, int from, int to, OutputKind kind) {
  const bool next_stage = to == (from + 1) % schedule.stages;
  return from * 4 + (next_stage ? 2 : 0) + static_cast<int>(kind);
}

int channel_count(const Schedule& schedule) {
  return schedule.stages * 4;
}

}  // namespace caravan::planner
