#include "worker/trainer/comm/axis_by_axis.h"

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

namespace caravan::trainer {
namespace {

using planner::Axis;
using planner::kAxes;

[[noreturn]] void refuse_off_axis(int peer) {
  throw CommunicationError(fmt::format("rank {} may be reached along an axis only", peer));
}

}  // namespace

void AxisByAxis::all_reduce(at::Tensor& tensor, Reduction reduction) {
  for (const Axis axis : kAxes) along(groups_, axis).all_reduce(tensor, reduction);
}

// Along the fastest axis first, the ranks that are gathered have consecutive numbers.
void AxisByAxis::all_gather(at::Tensor& output, const at::Tensor& input) {
  const int64_t rows = output.size(0) / size();
  at::Tensor known = input;
  int64_t ranks = 1;
  for (const Axis axis : kAxes) {
    ranks *= along(shape_, axis);
    at::Tensor all = output.narrow(0, rank() / ranks * ranks * rows, ranks * rows);
    along(groups_, axis).all_gather(all, known);
    known = all;
  }
}

void AxisByAxis::reduce_scatter(at::Tensor& output, const at::Tensor& input) {
  at::Tensor sums = input.clone();
  all_reduce(sums, Reduction::Sum);
  const int64_t rows = output.size(0);
  output.copy_(sums.narrow(0, rank() * rows, rows));
}

// Along the last axis every rank has it that stands like the root along the others.
void AxisByAxis::broadcast(at::Tensor& tensor, int root) {
  const planner::MeshPosition at = planner::position_of(root, shape_);
  for (const Axis axis : kAxes) along(groups_, axis).broadcast(tensor, along(at, axis));
}

void AxisByAxis::barrier() {
  for (const Axis axis : kAxes) along(groups_, axis).barrier();
}

std::unique_ptr<PendingTransfer> AxisByAxis::send(const at::Tensor& /*tensor*/, int peer, int /*tag*/) {
  refuse_off_axis(peer);
}

std::unique_ptr<PendingTransfer> AxisByAxis::receive(at::Tensor& /*tensor*/, int peer, int /*tag*/) {
  refuse_off_axis(peer);
}

}  // namespace caravan::trainer
