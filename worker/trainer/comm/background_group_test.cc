#include "worker/trainer/comm/background_group.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <functional>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include "worker/trainer/comm/testing/fake_communicator.h"
#include "worker/trainer/comm/testing/forwarding_communicator.h"
#include "worker/trainer/memory/counting_allocator.h"

namespace caravan::trainer {
namespace {

void with_ranks(int ranks, const std::function<void(Communicator&)>& body) {
  auto members = make_fake_group(ranks);
  std::vector<std::jthread> threads;
  for (auto& member : members) {
    threads.emplace_back([&body, &member] { body(*in_background(std::move(member))); });
  }
}

Collective sum_of(const at::Tensor& tensor) {
  return {.kind = Collective::Kind::AllReduce, .output = tensor};
}

// Where starting waited for the other rank, neither would get further.
TEST(BackgroundGroup, GoesOnWhileTheCallerComputes) {
  std::latch begun(1);
  with_ranks(2, [&](Communicator& group) {
    ASSERT_TRUE(group.overlaps());
    const at::Tensor tensor = at::full({3}, group.rank() + 1, at::kFloat);
    if (group.rank() == 1) begun.wait();
    const auto before = std::chrono::steady_clock::now();
    const auto sum = group.start(sum_of(tensor));
    if (group.rank() == 0) begun.count_down();
    sum->wait();
    EXPECT_TRUE(at::equal(tensor, at::full({3}, 3, at::kFloat)));
    ASSERT_TRUE(sum->worked());
    EXPECT_LE(before, sum->worked()->begin);
    EXPECT_LE(sum->worked()->begin, sum->worked()->end);
    EXPECT_LE(sum->worked()->end, std::chrono::steady_clock::now());
  });
}

TEST(BackgroundGroup, KeepsTheOrderOfAllCalls) {
  with_ranks(3, [](Communicator& group) {
    at::Tensor whole = at::full({3}, 1, at::kFloat);
    const at::Tensor own = whole.narrow(0, group.rank(), 1);
    for (int round = 0; round < 50; ++round) {
      whole.fill_(1);
      const auto sum = group.start({.kind = Collective::Kind::ReduceScatter, .output = own, .input = whole});
      const auto values = group.start({.kind = Collective::Kind::AllGather, .output = whole, .input = own});
      group.all_reduce(whole, Reduction::Sum);
      ASSERT_TRUE(at::equal(whole, at::full({3}, 9, at::kFloat))) << round;
      group.barrier();
    }
  });
}

TEST(BackgroundGroup, TellsAnErrorWhereItIsAwaited) {
  with_ranks(2, [](Communicator& group) {
    const auto sum = group.start(sum_of(at::zeros({1 + group.rank()}, at::kFloat)));
    const auto next = group.start(sum_of(at::zeros({1}, at::kFloat)));
    EXPECT_THROW(sum->wait(), CommunicationError);
    EXPECT_THROW(next->wait(), CommunicationError) << "it goes on behind a sum that is lost";
    EXPECT_THROW(group.barrier(), CommunicationError) << "what follows a lost sum has no meaning";
  });
}

class Allocating final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  void all_reduce(at::Tensor& tensor, Reduction reduction) override {
    const at::Tensor buffer = at::empty({1024}, at::kFloat);
    ForwardingCommunicator::all_reduce(tensor, reduction);
  }
};

TEST(BackgroundGroup, IsChargedToWhoeverStartedIt) {
  MemoryCounter others;
  MemoryCounter communication;
  const CountingAllocator allocator(others);
  const auto group = in_background(std::make_unique<Allocating>(std::move(make_fake_group(1)[0])));
  const at::Tensor tensor = at::zeros({1}, at::kFloat);
  const int64_t before = others.peak_bytes();
  std::unique_ptr<PendingTransfer> sum;
  {
    const CountTo charge(communication);
    sum = group->start(sum_of(tensor));
  }
  sum->wait();
  EXPECT_EQ(communication.peak_bytes(), 4096);
  EXPECT_EQ(others.peak_bytes(), before);
}

}  // namespace
}  // namespace caravan::trainer
