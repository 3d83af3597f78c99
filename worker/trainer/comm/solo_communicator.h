// The communicator of a group of one: reductions leave the tensor as it is, gathers and exchanges copy.
#pragma once

#include "worker/trainer/comm/communicator.h"

namespace caravan::trainer {

class SoloCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }

  void all_reduce(at::Tensor& tensor, Reduction reduction) override;
  void all_gather(at::Tensor& output, const at::Tensor& input) override;
  void reduce_scatter(at::Tensor& output, const at::Tensor& input) override;
  void broadcast(at::Tensor& tensor, int root) override;
  void barrier() override;

  // There is no peer: both throw CommunicationError.
  std::unique_ptr<PendingTransfer> send(const at::Tensor& tensor, int peer, int tag) override;
  std::unique_ptr<PendingTransfer> receive(at::Tensor& tensor, int peer, int tag) override;
};

}  // namespace caravan::trainer
