// All ranks of a job as one group, by way of those along the axes of its mesh, one after the other.
//
// A group of its own would have a connection of every rank to every other one: a job of a thousand ranks
// would have more than a process may open. So each has those of its axes.
#pragma once

#include "planner/mesh.h"
#include "worker/trainer/comm/communicator.h"

namespace caravan::trainer {

// They outlive it.
struct AxisGroups {
  Communicator& tensor;
  Communicator& data;
  Communicator& pipeline;
};

class AxisByAxis final : public Communicator {
 public:
  AxisByAxis(const planner::MeshShape& shape, const planner::MeshPosition& position, const AxisGroups& groups)
      : shape_(shape), position_(position), groups_(groups) {}

  int rank() const override { return planner::rank_at(position_, shape_); }
  int size() const override { return static_cast<int>(shape_.ranks()); }

  void all_gather(at::Tensor& output, const at::Tensor& input) override;
  void broadcast(at::Tensor& tensor, int root) override;
  void barrier() override;
  void finalize() override;

  // Two ranks may have no group in common, and sums of all ranks nobody needs, which would be rounded once
  // for each axis: all throw CommunicationError.
  void all_reduce(at::Tensor& tensor, Reduction reduction) override;
  void reduce_scatter(at::Tensor& output, const at::Tensor& input) override;
  std::unique_ptr<PendingTransfer> send(const at::Tensor& tensor, int peer, int tag) override;
  std::unique_ptr<PendingTransfer> receive(at::Tensor& tensor, int peer, int tag) override;

 private:
  const planner::MeshShape shape_;
  const planner::MeshPosition position_;
  const AxisGroups groups_;
};

}  // namespace caravan::trainer
