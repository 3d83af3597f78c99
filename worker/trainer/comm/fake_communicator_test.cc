#include "worker/trainer/comm/testing/fake_communicator.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

namespace caravan::trainer {
namespace {

void run_ranks(int size, const std::function<void(Communicator&)>& body) {
  const auto group = make_fake_group(size);
  std::vector<std::jthread> threads;
  for (const auto& communicator : group) threads.emplace_back([&] { body(*communicator); });
}

at::Tensor floats(std::initializer_list<float> values) {
  return at::tensor(at::ArrayRef<float>(values));
}

TEST(FakeCommunicator, AllReduceSumsOverAllRanks) {
  run_ranks(3, [](Communicator& group) {
    at::Tensor tensor = at::arange(7, at::kFloat) * (group.rank() + 1);
    group.all_reduce(tensor, Reduction::Sum);
    EXPECT_TRUE(at::equal(tensor, at::arange(7, at::kFloat) * 6));
  });
}

TEST(FakeCommunicator, AllReduceFindsTheLargest) {
  run_ranks(3, [](Communicator& group) {
    at::Tensor tensor = at::full({5}, static_cast<float>((group.rank() * 2) % 3));
    group.all_reduce(tensor, Reduction::Max);
    EXPECT_TRUE(at::equal(tensor, at::full({5}, 2.0F)));
  });
}

TEST(FakeCommunicator, SumsOfBf16AreRoundedOnce) {
  run_ranks(4, [](Communicator& group) {
    const float mine = group.rank() == 0 ? 256.0F : 1.0F;  // 256 + 1 rounds back to 256 in bf16
    at::Tensor reduced = at::full({4}, mine, at::kBFloat16);
    group.all_reduce(reduced, Reduction::Sum);
    EXPECT_EQ(reduced[0].item<float>(), 260.0F);

    at::Tensor scattered = at::empty({1}, at::kBFloat16);
    group.reduce_scatter(scattered, at::full({4}, mine, at::kBFloat16));
    EXPECT_EQ(scattered.item<float>(), 260.0F);
  });
}

TEST(FakeCommunicator, ReduceScatterGivesEachRankItsPart) {
  run_ranks(2, [](Communicator& group) {
    at::Tensor output = at::empty({2}, at::kFloat);
    group.reduce_scatter(output, floats({0, 1, 2, 3}));
    EXPECT_TRUE(at::equal(output, group.rank() == 0 ? floats({0, 2}) : floats({4, 6})));
  });
}

TEST(FakeCommunicator, AllGatherIsInRankOrder) {
  run_ranks(2, [](Communicator& group) {
    at::Tensor output = at::empty({4}, at::kFloat);
    group.all_gather(output, at::full({2}, static_cast<float>(group.rank())));
    EXPECT_TRUE(at::equal(output, floats({0, 0, 1, 1})));
  });
}

TEST(FakeCommunicator, BroadcastCopiesTheRoot) {
  run_ranks(3, [](Communicator& group) {
    at::Tensor tensor = at::full({2}, static_cast<float>(group.rank()));
    group.broadcast(tensor, 2);
    EXPECT_TRUE(at::equal(tensor, floats({2, 2})));
  });
}

TEST(FakeCommunicator, TagsKeepTransfersApart) {
  run_ranks(2, [](Communicator& group) {
    const int peer = 1 - group.rank();
    const auto one = group.send(at::full({1}, 1.0F), peer, 1);
    const auto two = group.send(at::full({1}, 2.0F), peer, 2);
    at::Tensor second = at::empty({1}, at::kFloat);
    at::Tensor first = at::empty({1}, at::kFloat);
    group.receive(second, peer, 2)->wait();
    group.receive(first, peer, 1)->wait();
    one->wait();
    two->wait();
    EXPECT_EQ(first.item<float>(), 1);
    EXPECT_EQ(second.item<float>(), 2);
  });
}

TEST(FakeCommunicator, DisagreementAboutTheShapeIsAnErrorOnAllRanks) {
  run_ranks(2, [](Communicator& group) {
    at::Tensor tensor = at::full({group.rank() + 1}, 1.0F);
    EXPECT_THROW(group.all_reduce(tensor, Reduction::Sum), CommunicationError);
  });
}

}  // namespace
}  // namespace caravan::trainer
