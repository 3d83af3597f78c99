#include "cli/cluster/checkpoint_answer.h"

#include <gtest/gtest.h>

#include "cli/cluster/testing/jobs.h"

namespace caravan::cli {
namespace {

// asked, answered: of the annotation and the status.
controller::Job job_that(const std::string& asked, const std::string& answered) {
  controller::Job job = testing::job_with(fmt::format(R"({{"checkpointRequest": "{}"}})", answered));
  job.checkpoint_request = asked;
  return job;
}

TEST(CheckpointAnswer, IsThatOfOurRequest) {
  CheckpointAnswer answer("ours", "before");
  EXPECT_TRUE(answer.see(job_that("ours", "before")));
  EXPECT_FALSE(answer.has_come());
  EXPECT_FALSE(answer.see(job_that("ours", "ours")));
  EXPECT_TRUE(answer.has_come());
}

TEST(CheckpointAnswer, IsThatOfALaterRequestWhichTookThePlaceOfOurs) {
  CheckpointAnswer answer("ours", "before");
  EXPECT_TRUE(answer.see(job_that("ours", "before")));
  EXPECT_TRUE(answer.see(job_that("theirs", "before")));
  EXPECT_FALSE(answer.see(job_that("theirs", "theirs")));
  EXPECT_TRUE(answer.has_come());
}

TEST(CheckpointAnswer, IsOursAlsoWhereSomebodyHasAskedAgainSince) {
  CheckpointAnswer answer("ours", "before");
  EXPECT_FALSE(answer.see(job_that("theirs", "ours")));
  EXPECT_TRUE(answer.has_come());
}

TEST(CheckpointAnswer, IsNotThatOfTheRequestBeforeWhichAServerThatIsBehindTells) {
  CheckpointAnswer answer("ours", "before");
  EXPECT_TRUE(answer.see(job_that("before", "before")));
  EXPECT_TRUE(answer.see(job_that("", "")));
  EXPECT_FALSE(answer.has_come());
}

TEST(CheckpointAnswer, DoesNotComeOnceTheJobHasEnded) {
  CheckpointAnswer answer("ours", "");
  controller::Job job = testing::job_in(testing::condition("Failed", "True", "Cancelled"));
  job.checkpoint_request = "ours";
  EXPECT_FALSE(answer.see(job));
  EXPECT_FALSE(answer.has_come());
}

TEST(CheckpointAnswer, OfASuspendedJobComesWhenItGoesOn) {
  EXPECT_EQ(time_of_checkpoint(testing::job_with("{}")), "after the step at work");
  EXPECT_EQ(time_of_checkpoint(testing::job_with("{}", R"(, "suspend": true)")), "when it goes on");
  EXPECT_EQ(time_of_checkpoint(testing::job_in(testing::condition("Suspended", "True", "ByQueue"))),
            "when it goes on");
}

}  // namespace
}  // namespace caravan::cli
