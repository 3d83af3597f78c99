#include "worker/agent/rank_config.h"

#include <gtest/gtest.h>

#include "worker/agent/testing/scripted_job.h"

namespace caravan::agent {
namespace {

TEST(RankConfig, RanksWaitLongerThanAStepMayTakeAsTheCoordinatorSays) {
  v1alpha1::JobPlan job = testing::scripted_job(1, 1, 5);
  job.mutable_spec()->set_stall_timeout_seconds(700);
  Master longer;
  longer.stall_timeout = std::chrono::seconds(3600);
  EXPECT_EQ(make_rank_config(job, {}, 0, {}).collective_timeout_seconds(), 760)
      << "an older one says nothing";
  EXPECT_EQ(make_rank_config(job, longer, 0, {}).collective_timeout_seconds(), 3660);
}

}  // namespace
}  // namespace caravan::agent
