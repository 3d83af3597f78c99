#include "operator/controller/lifetime_policy.h"

#include <gtest/gtest.h>

#include "operator/api/conditions.h"
#include "operator/testing/jobs.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;

TEST(DeadlinePolicy, CountsFromTheStartAndSaysWhenToLookAgain) {
  const auto spec = job(R"(, "activeDeadlineSeconds": 60)").spec;
  v1alpha1::JobStatus status;
  const auto fails = Verdict::Course::kFails;
  EXPECT_NE(judge_deadline(spec, status, kStart).course, fails) << "it has not started";
  status.set_start_time(to_text(kStart));
  EXPECT_EQ(judge_deadline(spec, status, kStart + 20s).look_again, 40s);
  EXPECT_EQ(judge_deadline(spec, status, kStart + 60s).course, fails);
  EXPECT_NE(judge_deadline(job().spec, status, kStart + 1000h).course, fails);
}

TEST(TtlPolicy, CountsFromTheEnd) {
  Snapshot snapshot{.job = job(R"(, "ttlSecondsAfterFinished": 60)")};
  v1alpha1::JobStatus& status = snapshot.job.status;
  Conditions(status, 1, kStart).set(conditions::kFailed, true, reasons::kRankFailed, "");
  EXPECT_TRUE(judge_finished(snapshot, status, kStart + 1000h).effects.empty())
      << "nobody knows when it ended";
  status.set_completion_time(to_text(kStart));
  const Verdict early = judge_finished(snapshot, status, kStart + 59s);
  EXPECT_EQ(early.look_again, 1s);
  EXPECT_TRUE(early.effects.empty());
  const Verdict late = judge_finished(snapshot, status, kStart + 60s);
  ASSERT_EQ(late.effects.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<DeleteJob>(late.effects[0]));
}

TEST(FinishedPolicy, OfAJobThatIsOverOnlyPodsOfWhichNothingRunsStay) {
  Snapshot snapshot{.job = job()};
  v1alpha1::JobStatus& status = snapshot.job.status;
  Conditions(status, 1, kStart).set(conditions::kComplete, true, reasons::kStepsReached, "");
  status.set_completion_time(to_text(kStart));
  snapshot.pods = {ended_pod(0, 0, kStart), ended_pod(1, 0, kStart)};
  snapshot.pods[1].lingers = true;
  EXPECT_TRUE(judge_finished(snapshot, status, kStart + 59s).effects.empty());
  const Verdict verdict = judge_finished(snapshot, status, kStart + 60s);
  ASSERT_EQ(verdict.effects.size(), 1U);
  EXPECT_EQ(std::get<DeletePod>(verdict.effects[0]).name, "train-1-a1");
}

}  // namespace
}  // namespace caravan::controller::testing
