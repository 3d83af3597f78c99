#include "planner/schedule/fixed_orders.h"

#include <algorithm>

namespace caravan::planner {
namespace {

// Numbers the forwards of a stage in the order in which it runs them, and its backwards likewise.
class Units {
 public:
  explicit Units(const ScheduleSpec& spec) : spec_(spec) {}

  int count() const { return spec_.micro_batches * spec_.chunks * spec_.segments; }

  // Each chunk in turn runs as many micro-batches as there are stages (Narayanan et al., arXiv 2104.04473,
  // section 2.2); backwards take the chunks, and the segments of a sequence, the other way round.
  Op op(OpType type, int number) const {
    const bool forward = type == OpType::Forward;
    if (spec_.segments > 1) {
      const int segment = number % spec_.segments;
      return {.type = type,
              .micro_batch = number / spec_.segments,
              .segment = forward ? segment : spec_.segments - 1 - segment};
    }
    if (spec_.chunks == 1) return {.type = type, .micro_batch = number};
    const int round = spec_.stages * spec_.chunks;
    const int chunk = number % round / spec_.stages;
    return {.type = type,
            .micro_batch = number / round * spec_.stages + number % spec_.stages,
            .chunk = forward ? chunk : spec_.chunks - 1 - chunk};
  }

 private:
  const ScheduleSpec& spec_;
};

// One forward, one backward, after a warm-up of forwards (Narayanan et al., arXiv 2104.04473; of segments:
// Sun et al., arXiv 2406.03488).
std::vector<Op> one_by_one(const ScheduleSpec& spec, int first) {
  const Units units(spec);
  const int count = units.count();
  std::vector<Op> ops;
  ops.reserve(2 * static_cast<size_t>(count));
  for (int k = 0; k < count + first; ++k) {
    if (k < count) ops.push_back(units.op(OpType::Forward, k));
    if (k >= first) ops.push_back(units.op(OpType::Backward, k - first));
  }
  return ops;
}

// The gradients of a stage's weights wait until that many backwards have gone to the stage before, which
// waits for them (Qi et al., arXiv 2401.10241, sections 2.1 and 2.2).
std::vector<Op> zero_bubble(const ScheduleSpec& spec, int first, int backwards_before_weights) {
  const Units units(spec);
  const int count = units.count();
  std::vector<Op> ops;
  ops.reserve(3 * static_cast<size_t>(count));
  int weights = 0;
  for (int k = 0; k < count + first; ++k) {
    if (k < count) ops.push_back(units.op(OpType::Forward, k));
    if (k < first) continue;
    ops.push_back(units.op(OpType::BackwardInput, k - first));
    if (k - first >= backwards_before_weights) ops.push_back(units.op(OpType::BackwardWeight, weights++));
  }
  while (weights < count) ops.push_back(units.op(OpType::BackwardWeight, weights++));
  return ops;
}

}  // namespace

int warm_up(const ScheduleSpec& spec, int stage) {
  const int behind = spec.stages - stage - 1;
  const int count = spec.micro_batches * spec.chunks * spec.segments;
  switch (spec.kind) {
    case ScheduleKind::GPipe:
      return count;
    case ScheduleKind::Interleaved:
      return std::min(2 * behind + (spec.chunks - 1) * spec.stages, count);
    case ScheduleKind::ZeroBubbleH2:
      return std::min(2 * behind, count);
    default:
      return std::min(behind + spec.segments - 1, count);
  }
}

std::vector<Op> fixed_stage(const ScheduleSpec& spec, int stage) {
  const int first = warm_up(spec, stage);
  const int steady = spec.micro_batches * spec.segments - first;  // backwards that a forward stands before
  switch (spec.kind) {
    case ScheduleKind::ZeroBubbleH1:
    case ScheduleKind::SeqZeroBubble:
      return zero_bubble(spec, first, std::min(stage, steady));
    case ScheduleKind::ZeroBubbleH2:
      return zero_bubble(spec, first, 2 * stage);
    default:
      return one_by_one(spec, first);
  }
}

}  // namespace caravan::planner
