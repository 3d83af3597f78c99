#include "cli/cluster/job_news.h"

#include <gmock/gmock.h>

#include "cli/cluster/testing/jobs.h"

namespace caravan::cli {
namespace {

using testing::condition;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::job_in;

TEST(JobNews, AreWhatIsAnotherOneByNow) {
  const auto before = job_in(condition("Planned", "True", "HeuristicSelected", "TP1")).status;
  const auto after = job_in(condition("Planned", "True", "HeuristicSelected", "TP1") + "," +
                            condition("Scheduled", "False", "WaitingForPods", "0 of 2 pods have a machine"))
                         .status;
  EXPECT_THAT(news_of(before, after),
              ElementsAre("not Scheduled (WaitingForPods): 0 of 2 pods have a machine"));
  EXPECT_THAT(news_of(after, after), IsEmpty());
}

TEST(JobNews, TellOfStepsWithWhatWasPredicted) {
  const auto status =
      job_in("",
             R"(, "progress": {"step": 40, "steps": 100, "percent": 40, "loss": "2.31", "mfuPercent": "41.2",
                                   "tokensPerSecond": "12000", "peakMemoryPerDevice": "40.1Gi",
                                   "estimatedRemainingSeconds": 720},
                     "predicted": {"mfuPercent": "43.0", "memoryPerDevice": "39.8Gi"})")
          .status;
  EXPECT_THAT(news_of({}, status),
              ElementsAre("step 40/100 (40 %)  loss 2.31  mfu 41.2 % (predicted 43.0)  tok/s 12000  "
                          "mem 40.1Gi (predicted 39.8Gi)  eta 12m00s"));
}

// As the operator writes it where the peak of the devices is unknown.
TEST(JobNews, LeaveOutAnUnknownMfu) {
  const auto status =
      job_in("", R"(, "progress": {"step": 40, "steps": 100, "percent": 40, "loss": "2.31", "mfuPercent": "-",
                                   "tokensPerSecond": "12000"})")
          .status;
  EXPECT_EQ(progress_line(status), "step 40/100 (40 %)  loss 2.31  tok/s 12000");
}

TEST(JobNews, OfTheEndGiveTheExitCode) {
  EXPECT_EQ(end_of(job_in(condition("Running", "True", "StepsAdvancing")).status), std::nullopt);
  EXPECT_EQ(end_of(job_in(condition("Complete", "True", "StepsReached")).status), ExitCode::kDone);
  EXPECT_EQ(end_of(job_in(condition("Failed", "True", "MaxRestartsReached")).status), ExitCode::kJobFailed);
  EXPECT_EQ(end_of(job_in(condition("Failed", "True", "DoesNotFit")).status), ExitCode::kDoesNotFit);
}

}  // namespace
}  // namespace caravan::cli
