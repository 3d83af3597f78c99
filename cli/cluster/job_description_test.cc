#include "cli/cluster/job_description.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "cli/cluster/job_table.h"
#include "cli/cluster/testing/jobs.h"

namespace caravan::cli {
namespace {

using ::testing::AllOf;
using testing::at;
using testing::condition;
using ::testing::HasSubstr;
using testing::job_in;
using ::testing::Not;

constexpr const char* kStatus =
    R"(, "state": "Running", "layout": "TP1 PP1 DP16", "attempt": 2, "restarts": 1,
        "plan": {"tensor": 1, "pipeline": 1, "data": 16, "microBatchSize": 1, "gradientAccumulation": 1,
                 "schedule": "1F1B", "source": "HeuristicSelected", "reason": "Every device holds the whole model."},
        "predicted": {"mfuPercent": "43.0", "memoryPerDevice": "39.8Gi", "stepMilliseconds": 1500},
        "progress": {"step": 40, "steps": 100, "percent": 40, "loss": "2.31", "mfuPercent": "41.2"})";

JobFacts facts() {
  return {.job = job_in(condition("Planned", "True", "HeuristicSelected", "planned") + "," +
                            condition("Running", "True", "StepsAdvancing", "steps", "2026-01-01T00:10:00Z"),
                        kStatus),
          .pods = {{.name = "tiny-0-a2", .phase = controller::PodPhase::kRunning, .machine = "node-7"},
                   {.name = "tiny-1-a2", .phase = controller::PodPhase::kFailed, .exit_code = 137}},
          .events = {{.time = "2026-01-01T00:05:00Z",
                      .is_warning = true,
                      .reason = "PodLost",
                      .message = "gone",
                      .count = 3}},
          .now = at("2026-01-01T01:00:00Z")};
}

TEST(JobDescription, TellsStoryPlanFiguresPodsAndEvents) {
  const std::string text = describe_job(facts(), 120);
  EXPECT_THAT(text, HasSubstr("Job tiny in namespace team: Running\n"));
  EXPECT_THAT(
      text,
      HasSubstr("llama-tiny for 100 steps of 16 sequences of 64 tokens, on 16 devices. Created 1h00m ago, "
                "attempt 2, 1 restart."));
  EXPECT_THAT(
      text,
      HasSubstr("TP1 PP1 DP16, micro-batch size 1, 1 micro-batches a step, 1F1B (HeuristicSelected). Every "
                "device holds the"));
  EXPECT_THAT(text, AllOf(HasSubstr("39.8Gi"), HasSubstr("41.2 %"), HasSubstr("1.5 s")));
  EXPECT_THAT(text, AllOf(HasSubstr("node-7"), HasSubstr("Failed: exit code 137")));
  EXPECT_THAT(text, HasSubstr("gone (x3)"));
  EXPECT_LT(text.find("HeuristicSelected"), text.find("StepsAdvancing"));
}

TEST(JobDescription, LeavesOutWhatIsNotKnownYet) {
  const std::string text = describe_job({.job = job_in(""), .now = at("2026-01-01T00:00:05Z")}, 80);
  EXPECT_THAT(text, HasSubstr("not seen by an operator yet"));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("Plan")), Not(HasSubstr("Pods")), Not(HasSubstr("Events"))));
}

// As the operator writes it where the peak of the devices is unknown.
TEST(JobDescription, LeavesOutAnUnknownMfuAndSoDoesTheTable) {
  JobFacts given = facts();
  given.job.status.mutable_progress()->set_mfu_percent("-");
  given.job.status.mutable_predicted()->clear_mfu_percent();
  EXPECT_THAT(describe_job(given, 120), AllOf(Not(HasSubstr("MFU")), Not(HasSubstr("- %"))));
  EXPECT_THAT(job_table({given.job}, {.now = given.now}), Not(HasSubstr("- %")));
}

TEST(JobTable, OfAJobThatSpeaksToTheTerminalIsOneLine) {
  controller::Job job = facts().job;
  job.status.set_state("\x1b[2JRunning\nforged");
  const std::string text = job_table({job}, {.now = at("2026-01-04T02:00:00Z")});
  EXPECT_THAT(text, AllOf(HasSubstr("tiny  [2JRunning forged  TP1"), Not(HasSubstr("\x1b"))));
  EXPECT_EQ(std::ranges::count(text, '\n'), 2) << "titles, and the job";
}

TEST(JobTable, ShowsWhatIsBesideWhatWasPredicted) {
  const TableLook look{.wide = true, .now = at("2026-01-04T02:00:00Z")};
  const std::string text = job_table({facts().job}, look);
  EXPECT_THAT(text, AllOf(HasSubstr("41.2 % (43.0)"), HasSubstr("- (39.8Gi)"), HasSubstr("40/100"),
                          HasSubstr("3d02h")));
}

}  // namespace
}  // namespace caravan::cli
