// What communicator.h promises, of groups that talk over the network and through shared memory.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "common/testing/sample.h"
#include "common/testing/turn.h"
#include "planner/work/constants.h"
#include "worker/trainer/comm/testing/rank_threads.h"

namespace caravan::trainer {
namespace {

class Groups : public testing::TestWithParam<Transport> {};

TEST_P(Groups, AllReduceAddsAndTakesTheMaximum) {
  with_ranks(GetParam(), 3, [](Communicator& world) {
    at::Tensor sum = at::full({5}, world.rank() + 1, at::kFloat);
    world.all_reduce(sum, Reduction::Sum);
    EXPECT_TRUE(at::equal(sum, at::full({5}, 6, at::kFloat)));
    at::Tensor maximum = at::full({2}, world.rank() * 2.5, at::kDouble);
    world.all_reduce(maximum, Reduction::Max);
    EXPECT_TRUE(at::equal(maximum, at::full({2}, 5.0, at::kDouble)));
  });
}

TEST_P(Groups, SumsOfBf16AreRoundedOnce) {
  with_ranks(GetParam(), 4, [](Communicator& world) {
    // In bf16 256 + 1 is 256, so a sum that rounds at every step may stay at 256.
    at::Tensor sum = at::full({7}, world.rank() == 0 ? 256 : 1, at::kBFloat16);
    world.all_reduce(sum, Reduction::Sum);
    EXPECT_TRUE(at::equal(sum, at::full({7}, 259, at::kFloat).to(at::kBFloat16))) << sum[0].item<float>();
  });
}

TEST_P(Groups, ReduceScatterGivesEachRankItsPartAlsoInPlace) {
  with_ranks(GetParam(), 2, [](Communicator& world) {
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

TEST_P(Groups, AllGatherPutsPartsInRankOrderAlsoInPlace) {
  with_ranks(GetParam(), 3, [](Communicator& world) {
    const at::Tensor expected = at::arange(6, at::kLong).view({6, 1});
    at::Tensor output = at::zeros({6, 1}, at::kLong);
    at::Tensor own = output.narrow(0, 2 * world.rank(), 2);
    own.copy_(expected.narrow(0, 2 * world.rank(), 2));
    world.all_gather(output, own);
    EXPECT_TRUE(at::equal(output, expected));
  });
}

TEST_P(Groups, BroadcastCopiesFromTheRoot) {
  with_ranks(GetParam(), 2, [](Communicator& world) {
    at::Tensor tensor = at::full({3}, world.rank(), at::kFloat);
    world.broadcast(tensor, 1);
    EXPECT_TRUE(at::equal(tensor, at::full({3}, 1, at::kFloat)));
  });
}

TEST_P(Groups, TransfersMeetByTagWhateverTheirOrder) {
  with_ranks(GetParam(), 2, [](Communicator& world) {
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

at::Tensor values(int64_t elements, at::ScalarType type, int rank) {
  auto generator = at::detail::createCPUGenerator(static_cast<uint64_t>(rank));
  return at::randn({elements}, generator, at::kDouble).mul(1000).to(type);
}

// In the order that direct_exchange.h promises: the owner of a part first, then in cyclic order.
at::Tensor sum_in_order(int64_t elements, at::ScalarType type, int ranks) {
  const bool narrow = type == at::kBFloat16;
  const int64_t part = (elements + ranks - 1) / ranks;
  at::Tensor sum = at::empty({elements}, narrow ? at::kFloat : type);
  for (int owner = 0; owner * part < elements; ++owner) {
    const int64_t begin = owner * part;
    at::Tensor target = sum.narrow(0, begin, std::min(part, elements - begin));
    target.zero_();
    for (int distance = 0; distance < ranks; ++distance) {
      const at::Tensor term = values(elements, type, (owner + distance) % ranks);
      target.add_(term.narrow(0, begin, target.numel()).to(sum.scalar_type()));
    }
  }
  return sum.to(type);
}

// Nothing, one element, odd numbers, and more than any of them moves at a time.
const std::vector<int64_t> kElements = {0, 1, 2, 3, 1023, 5000, 65537, 300'001};

TEST_P(Groups, SumsHaveTheBitsOfOneOrderWhateverTheSizeAndType) {
  for (const int ranks : test::sampled(std::vector{2, 3, 5}, 3)) {
    with_ranks(GetParam(), ranks, [&](Communicator& world) {
      for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble, at::kLong}) {
        for (const int64_t elements : kElements) {
          at::Tensor sum = values(elements, type, world.rank());
          world.all_reduce(sum, Reduction::Sum);
          EXPECT_TRUE(at::equal(sum, sum_in_order(elements, type, ranks)))
              << elements << " of " << type << " on " << ranks << " ranks";
        }
      }
    });
  }
}

TEST_P(Groups, PartsOfAnySizeAreScatteredAndGathered) {
  CARAVAN_BY_TURNS();
  with_ranks(GetParam(), 3, [](Communicator& world) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kLong}) {
      for (const int64_t part : kElements) {
        const at::Tensor expected = sum_in_order(3 * part, type, 3);
        at::Tensor own = at::empty({part}, type);
        world.reduce_scatter(own, values(3 * part, type, world.rank()));
        EXPECT_TRUE(at::equal(own, expected.narrow(0, world.rank() * part, part))) << part << " of " << type;
        at::Tensor all = at::zeros({3 * part}, type);
        world.all_gather(all, own);
        EXPECT_TRUE(at::equal(all, expected)) << part << " of " << type;
      }
    }
  });
}

TEST_P(Groups, MaximaAndBroadcastsGoThroughInPieces) {
  with_ranks(GetParam(), 3, [](Communicator& world) {
    for (const int64_t elements : kElements) {
      if (elements == 0 && GetParam() == Transport::Gloo) continue;
      at::Tensor maximum = values(elements, at::kFloat, world.rank());
      at::Tensor expected = maximum;
      for (int rank = 0; rank < 3; ++rank)
        expected = at::maximum(expected, values(elements, at::kFloat, rank));
      world.all_reduce(maximum, Reduction::Max);
      EXPECT_TRUE(at::equal(maximum, expected)) << elements;
      at::Tensor told = values(elements, at::kBFloat16, world.rank());
      world.broadcast(told, 2);
      EXPECT_TRUE(at::equal(told, values(elements, at::kBFloat16, 2))) << elements;
    }
  });
}

TEST_P(Groups, NobodyLeavesABarrierBeforeAllHaveCome) {
  std::atomic<int> come = 0;
  with_ranks(GetParam(), 4, [&](Communicator& world) {
    for (int round = 1; round <= 100; ++round) {
      ++come;
      world.barrier();
      EXPECT_GE(come, 4 * round);
      world.barrier();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Over, Groups, testing::Values(Transport::Gloo, Transport::SharedMemory),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace caravan::trainer
