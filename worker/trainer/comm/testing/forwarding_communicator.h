// Passes every call on to another communicator: what tests change is a call or two.
#pragma once

#include <memory>
#include <utility>

#include "worker/trainer/comm/communicator.h"

namespace caravan::trainer {

class ForwardingCommunicator : public Communicator {
 public:
  explicit ForwardingCommunicator(std::unique_ptr<Communicator> group) : group_(std::move(group)) {}

  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }
  void all_reduce(at::Tensor& tensor, Reduction reduction) override { group_->all_reduce(tensor, reduction); }
  void all_gather(at::Tensor& output, const at::Tensor& input) override { group_->all_gather(output, input); }
  void reduce_scatter(at::Tensor& output, const at::Tensor& input) override {
    group_->reduce_scatter(output, input);
  }
  void broadcast(at::Tensor& tensor, int root) override { group_->broadcast(tensor, root); }
  void barrier() override { group_->barrier(); }
  void finalize() override { group_->finalize(); }
  bool overlaps() const override { return group_->overlaps(); }
  std::unique_ptr<PendingTransfer> start(const Collective& collective) override {
    return group_->start(collective);
  }
  std::unique_ptr<PendingTransfer> send(const at::Tensor& tensor, int peer, int tag) override {
    return group_->send(tensor, peer, tag);
  }
  std::unique_ptr<PendingTransfer> receive(at::Tensor& tensor, int peer, int tag) override {
    return group_->receive(tensor, peer, tag);
  }

 private:
  const std::unique_ptr<Communicator> group_;
};

}  // namespace caravan::trainer
