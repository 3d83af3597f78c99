#include "worker/trainer/pipeline/traced_work.h"

#include <algorithm>
#include <utility>

namespace caravan::trainer {

at::Tensor TracedWork::boundary_buffer(const planner::Op& op) const {
  const Clock::TimePoint now = clock_.now();
  trace_.waits.push_back({.op = op, .begin = now, .end = now});
  return work_.boundary_buffer(op);
}

at::Tensor TracedWork::run(const planner::Op& op, at::Tensor input) {
  const Clock::TimePoint begin = clock_.now();
  const auto wait = std::find_if(trace_.waits.rbegin(), trace_.waits.rend(),
                                 [&](const TracedOp& each) { return each.op == op; });
  if (wait != trace_.waits.rend()) {
    if (!trace_.ops.empty()) wait->begin = std::max(wait->begin, trace_.ops.back().end);
    wait->end = begin;
  }
  at::Tensor made = work_.run(op, std::move(input));
  trace_.ops.push_back({.op = op, .begin = begin, .end = clock_.now()});
  return made;
}

}  // namespace caravan::trainer
