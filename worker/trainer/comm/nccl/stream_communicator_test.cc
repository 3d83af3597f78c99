#include "worker/trainer/comm/nccl/stream_communicator.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <map>
#include <thread>
#include <vector>

#include "common/testing/turn.h"
#include "worker/trainer/comm/testing/fake_communicator.h"
#include "worker/trainer/comm/testing/memory_board.h"
#include "worker/trainer/comm/testing/threaded_streams.h"

namespace caravan::trainer {
namespace {

// Numbers of the host are double here, and all others the device's.
bool is_on_device(const at::Tensor& tensor) {
  return tensor.scalar_type() != at::kDouble;
}

std::vector<NeighbourWay> all_ways(int rank, int ranks) {
  std::vector<NeighbourWay> ways;
  for (int peer = 0; peer < ranks; ++peer) {
    for (int number = 0; number < kWays && peer != rank; ++number) ways.push_back({peer, Way{number}});
  }
  return ways;
}

void with_ranks(int ranks, const std::function<void(Communicator&, Watchdog&)>& body,
                const std::function<std::vector<NeighbourWay>(int rank, int ranks)>& ways_of = all_ways) {
  auto hosts = make_fake_group(ranks);
  auto devices = make_fake_group(ranks);
  MemoryBoard board;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      Watchdog watchdog({.rank = rank}, board, nullptr);
      const auto group =
          stream_communicator({.name = "data-0",
                               .host = std::move(hosts[rank]),
                               .device = std::make_shared<ThreadedStreams>(std::move(devices[rank])),
                               .ways = ways_of(rank, ranks),
                               .is_on_device = is_on_device},
                              watchdog);
      body(*group, watchdog);
    });
  }
}

at::Tensor exact_values(int64_t elements, at::ScalarType type, int rank) {
  return at::arange(elements, at::kDouble).remainder(251).sub_(100).mul_((rank + 1) / 7.0).to(type);
}

// Added up in fp64 and rounded once. Of so few terms, fp32 gives the same bf16.
at::Tensor sum_of(int64_t elements, at::ScalarType type, int ranks) {
  at::Tensor sum = at::zeros({elements}, at::kDouble);
  for (int rank = 0; rank < ranks; ++rank) sum += exact_values(elements, type, rank).to(at::kDouble);
  return sum.to(type);
}

TEST(StreamCommunicator, SumsOfBf16AreRoundedOnce) {
  with_ranks(4, [](Communicator& group, Watchdog&) {
    at::Tensor sum = at::full({7}, group.rank() == 0 ? 256 : 1, at::kBFloat16);
    group.all_reduce(sum, Reduction::Sum);
    EXPECT_TRUE(at::equal(sum, at::full({7}, 259, at::kFloat).to(at::kBFloat16))) << sum[0].item<float>();
  });
}

TEST(StreamCommunicator, SumsOfBf16AreRightWhateverTheSizeAndInPlace) {
  CARAVAN_BY_TURNS();
  for (const int64_t elements : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{1023}, kPieceElements + 5}) {
    with_ranks(3, [&](Communicator& group, Watchdog&) {
      at::Tensor sum = exact_values(elements, at::kBFloat16, group.rank());
      group.all_reduce(sum, Reduction::Sum);
      EXPECT_TRUE(at::equal(sum, sum_of(elements, at::kBFloat16, 3))) << elements;
    });
    with_ranks(2, [&](Communicator& group, Watchdog&) {
      const at::Tensor expected =
          sum_of(2 * elements, at::kBFloat16, 2).narrow(0, group.rank() * elements, elements);
      at::Tensor whole = exact_values(2 * elements, at::kBFloat16, group.rank());
      at::Tensor apart = at::empty({elements}, at::kBFloat16);
      group.reduce_scatter(apart, whole);
      EXPECT_TRUE(at::equal(apart, expected)) << elements;
      at::Tensor own = whole.narrow(0, group.rank() * elements, elements);
      group.reduce_scatter(own, whole);
      EXPECT_TRUE(at::equal(own, expected)) << elements << ", in place";
    });
  }
}

TEST(StreamCommunicator, MaximaGathersAndBroadcastsAreTheDevices) {
  with_ranks(3, [](Communicator& group, Watchdog& watchdog) {
    at::Tensor maximum = at::full({2}, group.rank(), at::kFloat);
    group.all_reduce(maximum, Reduction::Max);
    EXPECT_TRUE(at::equal(maximum, at::full({2}, 2, at::kFloat)));
    at::Tensor all = at::zeros({3}, at::kFloat);
    group.all_gather(all, at::full({1}, group.rank(), at::kFloat));
    EXPECT_TRUE(at::equal(all, at::arange(3, at::kFloat)));
    group.broadcast(all, 1);
    at::Tensor part = at::zeros({1}, at::kFloat);
    group.reduce_scatter(part, all);
    EXPECT_EQ(part.item<float>(), 3.0F * static_cast<float>(group.rank()));
    watchdog.throw_if_lost();
  });
}

// Where starting waited for the other rank, neither would get further.
TEST(StreamCommunicator, WhatIsStartedGoesOnWhileTheCallerComputes) {
  std::latch begun(1);
  with_ranks(2, [&](Communicator& group, Watchdog&) {
    ASSERT_TRUE(group.overlaps());
    at::Tensor whole = at::full({2}, group.rank() + 1, at::kFloat);
    const at::Tensor own = whole.narrow(0, group.rank(), 1);
    if (group.rank() == 1) begun.wait();
    const auto sum = group.start({.kind = Collective::Kind::ReduceScatter, .output = own, .input = whole});
    if (group.rank() == 0) begun.count_down();
    sum->wait();
    EXPECT_EQ(own.item<float>(), 3);
    group.start({.kind = Collective::Kind::AllGather, .output = whole, .input = own})->wait();
    EXPECT_TRUE(at::equal(whole, at::full({2}, 3, at::kFloat)));
    group.start({.kind = Collective::Kind::AllReduce, .output = whole})->wait();
    EXPECT_TRUE(at::equal(whole, at::full({2}, 6, at::kFloat)));
  });
}

TEST(StreamCommunicator, AnErrorOfWhatIsStartedShowsWhereItIsAwaited) {
  with_ranks(2, [](Communicator& group, Watchdog&) {
    const auto sum = group.start(
        {.kind = Collective::Kind::AllReduce, .output = at::zeros({1 + group.rank()}, at::kFloat)});
    EXPECT_THROW(sum->wait(), CommunicationError);
  });
}

TEST(StreamCommunicator, NumbersOfTheHostGoOverTheHost) {
  with_ranks(2, [](Communicator& group, Watchdog&) {
    at::Tensor all = at::zeros({2}, at::kDouble);
    group.all_gather(all, at::full({1}, group.rank(), at::kDouble));
    EXPECT_TRUE(at::equal(all, at::arange(2, at::kDouble)));
    group.barrier();
  });
}

// In orders that differ: rank 0 asks for a gradient first, rank 1 for an activation.
TEST(StreamCommunicator, KindsAndDirectionsOfMessagesDoNotWaitForEachOther) {
  with_ranks(2, [](Communicator& group, Watchdog&) {
    const int peer = 1 - group.rank();
    const auto number = [](int rank, int tag) { return at::full({1}, 10 * rank + tag, at::kFloat); };
    std::map<int, at::Tensor> received;
    std::vector<at::Tensor> sent;
    std::vector<std::unique_ptr<PendingTransfer>> transfers;
    for (const int tag : group.rank() == 0 ? std::vector{3, 2} : std::vector{2, 3}) {
      received[tag] = at::zeros({1}, at::kFloat);
      transfers.push_back(group.receive(received[tag], peer, tag));
      sent.push_back(number(group.rank(), tag ^ 1));
      transfers.push_back(group.send(sent.back(), peer, tag ^ 1));
    }
    for (const auto& transfer : transfers) transfer->wait();
    for (const auto& [tag, tensor] : received) EXPECT_TRUE(at::equal(tensor, number(peer, tag))) << tag;
  });
}

std::vector<NeighbourWay> activations_up(int rank, int /*ranks*/) {
  return {{1 - rank, Way::ActivationsUp}};
}

TEST(StreamCommunicator, AMessageForWhichNoWayWasFormedIsAnErrorThatNamesIt) {
  const auto activation_and_gradient = [](Communicator& group) {
    at::Tensor tensor = at::zeros({1}, at::kFloat);
    if (group.rank() == 0) {
      group.send(tensor, 1, 2)->wait();
      (void)group.receive(tensor, 1, 3);
    } else {
      group.receive(tensor, 0, 2)->wait();
      (void)group.send(tensor, 0, 3);
    }
  };
  with_ranks(
      2,
      [&](Communicator& group, Watchdog&) {
        EXPECT_THAT(
            [&] { activation_and_gradient(group); },
            testing::ThrowsMessage<CommunicationError>(testing::HasSubstr(
                "group data-0: no way on the device was formed for gradients from rank 1 to rank 0")));
      },
      activations_up);
}

// And has the watchdog look.
void fail_an_operation(Watchdog& watchdog) {
  struct Failed final : public StreamOperation {
    void wait() override {}
    bool finished() override { return true; }
    std::optional<std::string> error() override { return "a link is down"; }
  };
  const Lane lane{.name = "data-0", .members = {0}, .rank = 0};
  watchdog.note(lane, "all-reduce of 8 bytes", std::make_shared<Failed>());
  watchdog.ask(Watchdog::Clock::now());
  watchdog.judge(Watchdog::Clock::now());
}

TEST(StreamCommunicator, AfterAVerdictEveryCallThrowsIt) {
  with_ranks(1, [](Communicator& group, Watchdog& watchdog) {
    fail_an_operation(watchdog);
    at::Tensor on_device = at::zeros({1}, at::kFloat);
    EXPECT_THROW(group.all_reduce(on_device, Reduction::Sum), CommunicationError);
    EXPECT_THROW(group.barrier(), CommunicationError);
    at::Tensor on_host = at::zeros({1}, at::kDouble);
    EXPECT_THROW(group.all_reduce(on_host, Reduction::Sum), CommunicationError);
    EXPECT_THROW(group.all_gather(on_host, on_host), CommunicationError);
    EXPECT_THROW(group.reduce_scatter(on_host, on_host), CommunicationError);
    EXPECT_THROW(group.broadcast(on_host, 0), CommunicationError);
    EXPECT_THROW((void)group.send(on_host, 0, 0), CommunicationError);
    EXPECT_THROW((void)group.receive(on_host, 0, 0), CommunicationError);
  });
}

TEST(StreamCommunicator, BehindTheJobsLastCallNobodyWatches) {
  with_ranks(1, [](Communicator& group, Watchdog& watchdog) {
    group.finalize();
    fail_an_operation(watchdog);
    EXPECT_NO_THROW(watchdog.throw_if_lost());
  });
}

}  // namespace
}  // namespace caravan::trainer
