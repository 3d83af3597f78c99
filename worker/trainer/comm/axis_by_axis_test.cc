#include "worker/trainer/comm/axis_by_axis.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "worker/trainer/comm/mesh.h"
#include "worker/trainer/comm/testing/fake_communicator.h"

namespace caravan::trainer {
namespace {

constexpr planner::MeshShape kShape{.tensor = 2, .data = 3, .pipeline = 2};
constexpr int kRanks = 12;

// Groups by their names, whose members come for them one by one.
class MeshGroups {
 public:
  std::unique_ptr<Communicator> take(const GroupRequest& request) {
    const std::scoped_lock lock(mutex_);
    auto& members = groups_[request.name];
    if (members.empty()) members = make_fake_group(request.size);
    return std::move(members.at(static_cast<std::size_t>(request.rank)));
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::vector<std::unique_ptr<Communicator>>> groups_;
};

void run_mesh(const std::function<void(Communicator& world)>& body) {
  MeshGroups groups;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&groups, &body, rank] {
      const Mesh mesh = form_mesh(kShape, {.embedding = 0, .head = 1}, rank,
                                  [&](const GroupRequest& request) { return groups.take(request); });
      body(*mesh.world);
    });
  }
}

TEST(AxisByAxis, GathersInTheOrderOfTheRanks) {
  run_mesh([](Communicator& world) {
    EXPECT_EQ(world.size(), kRanks);
    const at::Tensor own = at::full({2, 3}, world.rank(), at::kDouble);
    at::Tensor all = at::empty({2 * kRanks, 3}, at::kDouble);
    world.all_gather(all, own);
    for (int rank = 0; rank < kRanks; ++rank)
      EXPECT_TRUE(at::equal(all.narrow(0, 2 * rank, 2), at::full({2, 3}, rank, at::kDouble))) << rank;
  });
}

TEST(AxisByAxis, GathersWhatStandsInItsPlaceAlready) {
  run_mesh([](Communicator& world) {
    at::Tensor all = at::full({kRanks}, -1, at::kDouble);
    all[world.rank()] = world.rank();
    world.all_gather(all, all.narrow(0, world.rank(), 1));
    EXPECT_TRUE(at::equal(all, at::arange(kRanks, at::kDouble)));
  });
}

TEST(AxisByAxis, EveryRankGetsWhatTheRootHas) {
  run_mesh([](Communicator& world) {
    for (const int root : {0, 7, kRanks - 1}) {
      at::Tensor values = at::full({4}, world.rank() == root ? 100.0 + root : -1.0, at::kDouble);
      world.broadcast(values, root);
      EXPECT_TRUE(at::equal(values, at::full({4}, 100.0 + root, at::kDouble))) << world.rank();
    }
  });
}

TEST(AxisByAxis, ABarrierLetsNobodyThroughBeforeAllHaveCome) {
  std::atomic<int> came = 0;
  run_mesh([&](Communicator& world) {
    if (world.rank() == 5) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ++came;
    world.barrier();
    EXPECT_EQ(came, kRanks);
  });
}

TEST(AxisByAxis, RanksAreReachedAndAddedUpAlongAnAxisOnly) {
  run_mesh([](Communicator& world) {
    at::Tensor values = at::empty({1});
    EXPECT_THROW(world.send(values, 1, 0), CommunicationError);
    EXPECT_THROW(world.receive(values, 1, 0), CommunicationError);
    EXPECT_THROW(world.all_reduce(values, Reduction::Sum), CommunicationError);
    EXPECT_THROW(world.reduce_scatter(values, values), CommunicationError);
  });
}

}  // namespace
}  // namespace caravan::trainer
