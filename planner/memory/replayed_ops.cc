#include "planner/memory/replayed_ops.h"

#include <algorithm>

#include "planner/schedule/generate.h"

namespace caravan::planner {
namespace {

// Once a stage holds all that it ever does, every micro-batch repeats the one before: the others never count,
// but with GPipe, where they wait for their backward.
int replayed_micro_batches(const ScheduleSpec& spec, int stage) {
  constexpr int kRepeated = 2;
  switch (spec.kind) {
    case ScheduleKind::GPipe:
      return std::min(spec.micro_batches, kRepeated);
    case ScheduleKind::Interleaved:  // whole rounds
      return std::min(spec.micro_batches, 2 * spec.stages);
    default:
      return std::min(spec.micro_batches, static_cast<int>(promised_peak(spec, stage)) + kRepeated);
  }
}

ScheduleSpec with(ScheduleSpec spec, int micro_batches) {
  spec.micro_batches = micro_batches;
  return spec;
}

// All that its transfers follow from.
Schedule lists_around(const ScheduleSpec& spec, int stage) {
  Schedule schedule{.stages = spec.stages,
                    .micro_batches = spec.micro_batches,
                    .chunks = spec.chunks,
                    .segments = spec.segments,
                    .order = spec.map().order,
                    .ops = std::vector<std::vector<Op>>(spec.stages)};
  for (const int place : {stage + spec.stages - 1, stage, stage + 1}) {
    std::vector<Op>& ops = schedule.ops[place % spec.stages];
    if (ops.empty()) ops = generate_stage(spec, place % spec.stages);
  }
  return schedule;
}

}  // namespace

ReplayedOps replayed_ops(const ScheduleSpec& spec, int stage) {
  const int replayed = replayed_micro_batches(spec, stage);
  const Schedule schedule = lists_around(with(spec, replayed), stage);
  return {.actions = add_transfers(schedule, stage, messages_under_way(spec.kind)),
          .held = spec.kind == ScheduleKind::GPipe ? spec.micro_batches - replayed : 0};
}

std::vector<ReplayedOps> replayed_ops_of_all(const ScheduleSpec& spec) {
  constexpr int kRounds = 8;  // what a stage holds is not the same for every micro-batch
  const Schedule schedule =
      generate_schedule(with(spec, std::min(spec.micro_batches, kRounds * spec.stages)));
  std::vector<ReplayedOps> stages;
  stages.reserve(schedule.ops.size());
  for (int stage = 0; stage < schedule.stages; ++stage)
    stages.push_back({.actions = add_transfers(schedule, stage, messages_under_way(spec.kind)), .held = 0});
  return stages;
}

}  // namespace caravan::planner
