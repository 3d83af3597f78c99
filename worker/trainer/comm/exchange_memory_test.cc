#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "worker/trainer/comm/direct_exchange.h"
#include "worker/trainer/memory/counting_allocator.h"

namespace caravan::trainer {
namespace {

// A group whose transfers allocate nothing, so that what is counted is the exchange's own.
class NoTransfers final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void all_reduce(at::Tensor&, Reduction) override {}
  void all_gather(at::Tensor&, const at::Tensor&) override {}
  void reduce_scatter(at::Tensor&, const at::Tensor&) override {}
  void all_to_all(at::Tensor&, const at::Tensor&) override {}
  void broadcast(at::Tensor&, int) override {}
  void barrier() override {}
  std::unique_ptr<PendingTransfer> send(const at::Tensor&, int, int) override {
    return std::make_unique<Done>();
  }
  std::unique_ptr<PendingTransfer> receive(at::Tensor&, int, int) override {
    return std::make_unique<Done>();
  }

 private:
  class Done final : public PendingTransfer {
    void wait() override {}
  };
};

int64_t all_reduce_workspace(int64_t elements, at::ScalarType type) {
  MemoryCounter counter;
  const CountingAllocator allocator(counter);
  at::Tensor tensor = at::zeros({elements}, type);
  const int64_t before = counter.live_bytes();
  NoTransfers group;
  exchange_all_reduce(group, tensor);
  return counter.peak_bytes() - before;
}

TEST(ExchangeMemory, AnAllReduceAllocatesWhatTheContractSays) {
  EXPECT_EQ(all_reduce_workspace(1000, at::kFloat), 4 * 500);
  EXPECT_EQ(all_reduce_workspace(1000, at::kBFloat16), 10 * 500);
  EXPECT_EQ(all_reduce_workspace(1 << 20, at::kFloat), 4 * 65536);
  EXPECT_EQ(all_reduce_workspace(1 << 20, at::kBFloat16), 10 * 65536);
}

TEST(ExchangeMemory, AGatherAllocatesNothing) {
  MemoryCounter counter;
  const CountingAllocator allocator(counter);
  at::Tensor output = at::zeros({64}, at::kFloat);
  const at::Tensor input = at::zeros({32}, at::kFloat);
  const int64_t before = counter.live_bytes();
  counter.reset_peak();
  NoTransfers group;
  exchange_all_gather(group, output, input);
  EXPECT_EQ(counter.peak_bytes(), before);
}

}  // namespace
}  // namespace caravan::trainer
