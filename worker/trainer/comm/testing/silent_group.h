// A group of two whose collectives do nothing, for tests of what stands around them.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "worker/trainer/comm/communicator.h"

namespace caravan::trainer {

class SilentGroup final : public Communicator {
 public:
  // on_wait: what waiting for any transfer does.
  explicit SilentGroup(std::function<void()> on_wait = [] {}) : on_wait_(std::move(on_wait)) {}

  int rank() const override { return 0; }
  int size() const override { return 2; }
  void all_reduce(at::Tensor&, Reduction) override {}
  void all_gather(at::Tensor&, const at::Tensor&) override {}
  void reduce_scatter(at::Tensor&, const at::Tensor&) override {}
  void broadcast(at::Tensor&, int) override {}
  void barrier() override {}
  std::unique_ptr<PendingTransfer> send(const at::Tensor&, int, int) override {
    return std::make_unique<Transfer>(on_wait_);
  }
  std::unique_ptr<PendingTransfer> receive(at::Tensor&, int, int) override {
    return std::make_unique<Transfer>(on_wait_);
  }

 private:
  class Transfer final : public PendingTransfer {
   public:
    explicit Transfer(const std::function<void()>& on_wait) : on_wait_(on_wait) {}
    void wait() override { on_wait_(); }

   private:
    const std::function<void()>& on_wait_;
  };

  const std::function<void()> on_wait_;
};

}  // namespace caravan::trainer
