#include "worker/agent/blame.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::agent {
namespace {

using std::chrono::milliseconds;

const Blame::TimePoint kNow{std::chrono::hours(1)};

Death death(int rank, int milliseconds_later, const std::string& reason = "") {
  Death death{.died_at = kNow + milliseconds(milliseconds_later), .exit = {}};
  death.exit.set_rank(rank);
  death.exit.set_exit_code(1);
  if (!reason.empty()) death.exit.mutable_failure()->set_reason(reason);
  return death;
}

Blame blame_of(std::initializer_list<Death> deaths) {
  Blame blame;
  for (const Death& each : deaths) blame.add(each, kNow);
  return blame;
}

TEST(Blame, IsOnTheRankThatDiedFirst) {
  EXPECT_EQ(blame_of({death(0, 30), death(1, 10), death(2, 20)}).failure().rank, 1);
}

TEST(Blame, IsOnTheLowestRankAmongEqualTimes) {
  EXPECT_EQ(blame_of({death(2, 10), death(1, 10)}).failure().rank, 1);
}

TEST(Blame, IsOnNoLostConnectionWhenThereIsAnythingElse) {
  const Death lost = death(0, 10, reasons::kRankCommunication);
  EXPECT_EQ(blame_of({lost, death(1, 20)}).failure().rank, 1);
  EXPECT_EQ(blame_of({death(1, 20), lost}).failure().rank, 1);
  EXPECT_EQ(blame_of({death(1, 20, reasons::kRankCommunication), lost}).failure().rank, 0);
}

TEST(Blame, OfLostConnectionsAwaitsTheirCauseForAWhile) {
  const Blame symptom = blame_of({death(0, 0, reasons::kRankCommunication)});
  EXPECT_FALSE(symptom.a_rank_failed());
  EXPECT_FALSE(symptom.is_overdue(kNow + milliseconds(499)));
  EXPECT_TRUE(symptom.is_overdue(kNow + milliseconds(500)));
  EXPECT_TRUE(blame_of({death(0, 0)}).a_rank_failed());
  EXPECT_FALSE(Blame().is_overdue(kNow + milliseconds(500)));
}

TEST(Blame, IsOnACauseBeforeADeathButOnNoNodeThatLeavesWhereARankFailed) {
  Blame blame = blame_of({death(1, 0)});
  blame.set_cause(describe_leaving(0));
  EXPECT_FALSE(blame.is_settled());
  EXPECT_EQ(blame.failure().rank, 1);
  blame.set_cause(describe_lost_node(0, "it is gone"));
  EXPECT_TRUE(blame.is_settled());
  EXPECT_EQ(blame.failure().reason, reasons::kPodLost);
  Blame symptom = blame_of({death(1, 0, reasons::kRankCommunication)});
  symptom.set_cause(describe_leaving(0));
  EXPECT_EQ(symptom.failure().reason, reasons::kPreempted);
}

}  // namespace
}  // namespace caravan::agent
