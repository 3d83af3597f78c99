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

// Forwards that a stage runs before its first backward.
int interleaved_warm_up(int stages, int micro_batches, int stage, int chunks) {
  return std::min(2 * (stages - stage - 1) + (chunks - 1) * stages, micro_batches * chunks);
}

// Each chunk in turn runs as many micro-batches as there are stages (Narayanan et al., arXiv 2104.04473,
// section 2.2); backwards take the chunks the other way round.
std::vector<Op> interleaved_stage(int stages, int micro_batches, int stage, int chunks) {
  const int count = micro_batches * chunks;
  const int round = stages * chunks;
  const auto op = [&](OpType type, int k) {
    const int chunk = k % round / stages;
    return Op{.type = type,
              .micro_batch = k / round * stages + k % stages,
              .chunk = type == OpType::Forward ? chunk : chunks - 1 - chunk};
  };
  const int warm_up = interleaved_warm_up(stages, micro_batches, stage, chunks);
  std::vector<Op> ops;
  ops.reserve(2 * static_cast<size_t>(count));
  for (int k = 0; k < warm_up; ++k) ops.push_back(op(OpType::Forward, k));
  for (int k = warm_up; k < count; ++k) {
    ops.push_back(op(OpType::Forward, k));
    ops.push_back(op(OpType::Backward, k - warm_up));
  }
  for (int k = count - warm_up; k < count; ++k) ops.push_back(op(OpType::Backward, k));
  return ops;
}

}  // namespace

std::vector<Op> generate_stage(ScheduleKind kind, int stages, int micro_batches, int stage, int chunks) {
  switch (kind) {
    case ScheduleKind::GPipe:
      return gpipe_stage(micro_batches);
    case ScheduleKind::OneFOneB:
      return one_f_one_b_stage(stages, micro_batches, stage);
    case ScheduleKind::Interleaved:
      return interleaved_stage(stages, micro_batches, stage, chunks);
  }
  return {};
}

Schedule generate_schedule(ScheduleKind kind, int stages, int micro_batches, int chunks) {
  Schedule schedule{.stages = stages, .micro_batches = micro_batches, .chunks = chunks, .ops = {}};
  for (int stage = 0; stage < stages; ++stage) {
    schedule.ops.push_back(generate_stage(kind, stages, micro_batches, stage, chunks));
  }
  return schedule;
}

double promised_peak(ScheduleKind kind, int stages, int micro_batches, int stage, int chunks) {
  switch (kind) {
    case ScheduleKind::GPipe:
      return micro_batches;
    case ScheduleKind::OneFOneB:
      return std::min(stages - stage, micro_batches);
    case ScheduleKind::Interleaved: {
      const int warm_up = interleaved_warm_up(stages, micro_batches, stage, chunks);
      return static_cast<double>(std::min(warm_up + 1, micro_batches * chunks)) / chunks;
    }
  }
  return 0;
}

}  // namespace caravan::planner
