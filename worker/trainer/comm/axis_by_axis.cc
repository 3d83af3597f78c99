#include "worker/trainer/comm/axis_by_axis.h"

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

namespace caravan::trainer {
namespace {

using planner::Axis;
using planner::kAxes;

[[noreturn]] void refuse_off_axis(const char* operation) {
  throw CommunicationError(fmt::format("{}: ranks do that along an axis only", operation));
}

}  // namespace

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

// Along the last axis every rank has it that stands like the root along the others.
void AxisByAxis::broadcast(at::Tensor& tensor, int root) {
  const planner::MeshPosition at = planner::position_of(root, shape_);
  for (const Axis axis : kAxes) along(groups_, axis).broadcast(tensor, along(at, axis));
}

void AxisByAxis::barrier() {
  for (const Axis axis : kAxes) along(groups_, axis).barrier();
}

void AxisByAxis::finalize() {
  for (const Axis axis : kAxes) along(groups_, axis).finalize();
}

void AxisByAxis::all_reduce(at::Tensor& /*tensor*/, Reduction /*reduction*/) {
  refuse_off_axis("all_reduce");
}

void AxisByAxis::reduce_scatter(at::Tensor& /*output*/, const at::Tensor& /*input*/) {
  refuse_off_axis("reduce_scatter");
}

std::unique_ptr<PendingTransfer> AxisByAxis::send(const at::Tensor& /*tensor*/, int /*peer*/, int /*tag*/) {
  refuse_off_axis("send");
}

std::unique_ptr<PendingTransfer> AxisByAxis::receive(at::Tensor& /*tensor*/, int /*peer*/, int /*tag*/) {
  refuse_off_axis("receive");
}

}  // namespace caravan::trainer
