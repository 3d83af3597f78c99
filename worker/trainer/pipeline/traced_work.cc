#include "worker/trainer/pipeline/traced_work.h"

#include <algorithm>
#include <utility>

namespace caravan::trainer {

at::Tensor TracedWork::boundary_buffer(const planner::Op& op) const {
  const Moment now = clock_.now();
  trace_.waits.push_back({.op = op, .begin = now, .end = now});
  return work_.boundary_buffer(op);
}

// Of an op whose input came from another stage; only the receive of the op behind it is posted before it
// runs. The host and the device come to moments in the same order.
void TracedWork::end_wait(const planner::Op& op, const Moment& now) {
  const std::size_t count = trace_.waits.size();
  for (std::size_t back = 1; back <= std::min<std::size_t>(2, count); ++back) {
    TracedOp& wait = trace_.waits[count - back];
    if (wait.op != op) continue;
    if (!trace_.ops.empty() && wait.begin.host <= trace_.ops.back().end.host)
      wait.begin = trace_.ops.back().end;
    wait.end = now;
    return;
  }
}

at::Tensor TracedWork::run(const planner::Op& op, at::Tensor input) {
  const Moment begin = clock_.now();
  end_wait(op, begin);
  at::Tensor made = work_.run(op, std::move(input));
  trace_.ops.push_back({.op = op, .begin = begin, .end = clock_.now()});
  return made;
}

}  // namespace caravan::trainer
