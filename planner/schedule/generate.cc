#include <algorithm>

#include "planner/schedule/schedule.h"

namespace caravan::planner {
namespace {

// Every forward, then every backward (Huang et al., arXiv 1811.06965).
std::vector<Op> gpipe_stage(int micro_batches) {
  std::vector<Op> ops;
  ops.reserve(2 * static_cast<size_t>(micro_batches));
  for (int m = 0; m < micro_batches; ++m) ops.push_back({.type = OpType::Forward, .micro_batch = m});
  for (int m = 0; m < micro_batches; ++m) ops.push_back({.type = OpType::Backward, .micro_batch = m});
  return ops;
}

// One forward, one backward, after as many forwards as there are stages behind (Narayanan et al., arXiv
// 2104.04473).
std::vector<Op> one_f_one_b_stage(int stages, int micro_batches, int stage) {
  const int warm_up = std::min(stages - stage - 1, micro_batches);
  std::vector<Op> ops;
  ops.reserve(2 * static_cast<size_t>(micro_batches));
  for (int m = 0; m < warm_up; ++m) ops.push_back({.type = OpType::Forward, .micro_batch = m});
  for (int m = warm_up; m < micro_batches; ++m) {
    ops.push_back({.type = OpType::Forward, .micro_batch = m});
    ops.push_back({.type = OpType::Backward, .micro_batch = m - warm_up});
  }
  for (int m = micro_batches - warm_up; m < micro_batches; ++m) {
    ops.push_back({.type = OpType::Backward, .micro_batch = m});
  }
  return ops;
}

}  // namespace

std::vector<Op> generate_stage(ScheduleKind kind, int stages, int micro_batches, int stage) {
  if (kind == ScheduleKind::GPipe) return gpipe_stage(micro_batches);
  return one_f_one_b_stage(stages, micro_batches, stage);
}

Schedule generate_schedule(ScheduleKind kind, int stages, int micro_batches) {
  Schedule schedule{.stages = stages, .micro_batches = micro_batches, .ops = {}};
  for (int stage = 0; stage < stages; ++stage) {
    schedule.ops.push_back(generate_stage(kind, stages, micro_batches, stage));
  }
  return schedule;
}

int promised_peak(ScheduleKind kind, int stages, int micro_batches, int stage) {
  return kind == ScheduleKind::GPipe ? micro_batches : std::min(stages - stage, micro_batches);
}

}  // namespace caravan::planner
