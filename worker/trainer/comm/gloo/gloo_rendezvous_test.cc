#include "worker/trainer/comm/gloo/gloo_rendezvous.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "common/listen.h"
#include "planner/work/constants.h"
#include "worker/trainer/comm/direct_exchange.h"

namespace caravan::trainer {
namespace {

// Runs `body` as every rank of a world of Gloo ranks, each on its own thread. A process has one flight
// recorder, which groups of several ranks in it would write to at the same time.
void with_ranks(int ranks, const std::function<void(Communicator&)>& body) {
  setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/1);
  ListeningSocket listener = listen_on("127.0.0.1", "0").value();
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      RendezvousOptions options;
      options.port = listener.port;
      options.listen_fd = rank == 0 ? listener.fd.release() : -1;
      options.network_interface = "lo";
      options.rank = rank;
      options.world_size = ranks;
      options.timeout = std::chrono::seconds(60);
      GlooRendezvous rendezvous(options);
      const auto world = rendezvous.form_group("world", rank, ranks);
      body(*world);
      world->barrier();
    });
  }
}

TEST(Gloo, AllReduceAddsAndTakesTheMaximum) {
  with_ranks(3, [](Communicator& world) {
    at::Tensor sum = at::full({5}, world.rank() + 1, at::kFloat);
    world.all_reduce(sum, Reduction::Sum);
    EXPECT_TRUE(at::equal(sum, at::full({5}, 6, at::kFloat)));
    at::Tensor maximum = at::full({2}, world.rank() * 2.5, at::kDouble);
    world.all_reduce(maximum, Reduction::Max);
    EXPECT_TRUE(at::equal(maximum, at::full({2}, 5.0, at::kDouble)));
  });
}

TEST(Gloo, SumsOfBf16AreRoundedOnce) {
  with_ranks(4, [](Communicator& world) {
    // In bf16 256 + 1 is 256, so a sum that rounds at every step may stay at 256.
    at::Tensor sum = at::full({7}, world.rank() == 0 ? 256 : 1, at::kBFloat16);
    world.all_reduce(sum, Reduction::Sum);
    EXPECT_TRUE(at::equal(sum, at::full({7}, 259, at::kFloat).to(at::kBFloat16))) << sum[0].item<float>();
  });
}

TEST(Gloo, ReduceScatterGivesEachRankItsPartAlsoInPlace) {
  with_ranks(2, [](Communicator& world) {
    const int64_t part = planner::kExchangeChunkElements + 3;
    at::Tensor input = at::arange(2 * part, at::kFloat);
    const at::Tensor expected = input.narrow(0, world.rank() * part, part).mul(2);
    at::Tensor output = at::empty({part}, at::kFloat);
    world.reduce_scatter(output, input);
    EXPECT_TRUE(at::equal(output, expected));
    at::Tensor own = input.narrow(0, world.rank() * part, part);
    world.reduce_scatter(own, input);
    EXPECT_TRUE(at::equal(own, expected));
  });
}

TEST(Gloo, AllGatherPutsPartsInRankOrderAlsoInPlace) {
  with_ranks(3, [](Communicator& world) {
    const at::Tensor expected = at::arange(6, at::kLong).view({6, 1});
    at::Tensor output = at::zeros({6, 1}, at::kLong);
    at::Tensor own = output.narrow(0, 2 * world.rank(), 2);
    own.copy_(expected.narrow(0, 2 * world.rank(), 2));
    world.all_gather(output, own);
    EXPECT_TRUE(at::equal(output, expected));
  });
}

TEST(Gloo, BroadcastCopiesFromTheRoot) {
  with_ranks(2, [](Communicator& world) {
    at::Tensor tensor = at::full({3}, world.rank(), at::kFloat);
    world.broadcast(tensor, 1);
    EXPECT_TRUE(at::equal(tensor, at::full({3}, 1, at::kFloat)));
  });
}

TEST(Gloo, TransfersMeetByTagWhateverTheirOrder) {
  with_ranks(2, [](Communicator& world) {
    const at::Tensor one = at::full({4}, 1, at::kFloat);
    const at::Tensor two = at::full({4}, 2, at::kFloat);
    if (world.rank() == 0) {
      const auto first = world.send(one, 1, 1);
      const auto second = world.send(two, 1, 2);
      first->wait();
      second->wait();
    } else {
      at::Tensor later = at::empty({4}, at::kFloat);
      at::Tensor sooner = at::empty({4}, at::kFloat);
      world.receive(later, 0, 2)->wait();
      world.receive(sooner, 0, 1)->wait();
      EXPECT_TRUE(at::equal(later, two));
      EXPECT_TRUE(at::equal(sooner, one));
    }
  });
}

TEST(Gloo, AnUnknownInterfaceIsNamed) {
  ListeningSocket listener = listen_on("127.0.0.1", "0").value();
  RendezvousOptions options;
  options.port = listener.port;
  options.listen_fd = listener.fd.release();
  options.network_interface = "no-such-interface.invalid";
  try {
    GlooRendezvous rendezvous(options);
    FAIL() << "the interface does not exist";
  } catch (const CommunicationError& error) {
    EXPECT_NE(std::string(error.what()).find("no-such-interface.invalid"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace caravan::trainer
