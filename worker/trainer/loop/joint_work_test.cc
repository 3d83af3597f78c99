#include "worker/trainer/loop/joint_work.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "worker/trainer/comm/testing/fake_communicator.h"

namespace caravan::trainer {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kWorkers = 3;

struct Heard {
  int largest = -1;
  int announced = 0;
  int announced_again = 0;
};

// Each rank gives its number, behind twice as many pieces.
std::array<Heard, kWorkers> work_jointly(std::chrono::nanoseconds between) {
  const auto world = make_fake_group(kWorkers);
  std::array<Heard, kWorkers> outcomes;
  std::vector<std::jthread> ranks;
  for (std::size_t rank = 0; rank < kWorkers; ++rank) {
    ranks.emplace_back([&, rank] {
      Heard& outcome = outcomes[rank];
      JointWork work(
          *world[rank], [&](bool again) { ++(again ? outcome.announced_again : outcome.announced); },
          between);
      for (std::size_t piece = 0; piece < 2 * rank; ++piece) work.goes_on();
      outcome.largest = work.end(static_cast<int>(rank));
    });
  }
  ranks.clear();
  return outcomes;
}

TEST(JointWork, IsAnnouncedAsOftenAsAnyRankIsStillAtWork) {
  for (const Heard& outcome : work_jointly(/*between=*/0s)) {
    EXPECT_EQ(outcome.largest, 2);
    EXPECT_EQ(outcome.announced, 1);
    EXPECT_EQ(outcome.announced_again, 3);
  }
}

TEST(JointWork, ThatIsShortIsNotAnnounced) {
  for (const Heard& outcome : work_jointly(/*between=*/1h)) {
    EXPECT_EQ(outcome.largest, 2);
    EXPECT_EQ(outcome.announced, 0);
  }
}

}  // namespace
}  // namespace caravan::trainer
