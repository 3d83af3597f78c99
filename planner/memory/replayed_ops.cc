#include "planner/memory/replayed_ops.h"

#include <algorithm>
#include <utility>

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

}  // namespace

ReplayedOps replayed_ops(const ScheduleSpec& spec, int stage) {
  const int replayed = replayed_micro_batches(spec, stage);
  return {.ops = generate_stage(with(spec, replayed), stage),
          .held = spec.kind == ScheduleKind::GPipe ? spec.micro_batches - replayed : 0};
}

std::vector<ReplayedOps> replayed_ops_of_all(const ScheduleSpec& spec) {
  constexpr int kRounds = 8;  // what a stage holds is not the same for every micro-batch
  Schedule schedule = generate_schedule(with(spec, std::min(spec.micro_batches, kRounds * spec.stages)));
  std::vector<ReplayedOps> stages;
  stages.reserve(schedule.ops.size());
  for (std::vector<Op>& ops : schedule.ops) stages.push_back({.ops = std::move(ops), .held = 0});
  return stages;
}

}  // namespace caravan::planner
