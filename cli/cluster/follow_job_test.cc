#include "cli/cluster/follow_job.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "cli/cluster/testing/jobs.h"
#include "cli/cluster/testing/scripted_cluster.h"
#include "common/standard_stream.h"

namespace caravan::cli {
namespace {

using testing::condition;
using testing::job_object_with;
using testing::ScriptedCluster;

kube::Json job_where(const std::string& conditions) {
  return job_object_with(fmt::format(R"({{"state": "Running", "conditions": [{}]}})", conditions));
}

const kube::Json& planned_job() {
  static const kube::Json job = job_where(condition("Planned", "True", "HeuristicSelected", "TP1"));
  return job;
}

TEST(FollowJob, TellsTheNewsWhereTheyAreToGo) {
  for (const bool is_document : {false, true}) {
    ScriptedCluster cluster(planned_job());
    cluster.changes = {planned_job(), job_where(condition("Complete", "True", "StepsReached", "all"))};
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const auto code = follow_job(cluster, "tiny", {.news = is_document ? stderr : stdout});
    const std::string out = ::testing::internal::GetCapturedStdout();
    const std::string err = ::testing::internal::GetCapturedStderr();
    ASSERT_TRUE(code) << code.error().message;
    EXPECT_EQ(*code, ExitCode::kDone);
    EXPECT_EQ(is_document ? out : err, "") << "a document, or what went wrong, stands there";
    EXPECT_EQ(is_document ? err : out, "Planned (HeuristicSelected): TP1\nComplete (StepsReached): all\n");
  }
}

TEST(FollowJob, LeadsToTheJobWhereTimeIsUp) {
  ScriptedCluster cluster(planned_job(), "prod");
  cluster.changes = {planned_job()};
  const auto code = follow_job(cluster, "tiny", {.timeout = std::chrono::seconds(1), .quiet = true});
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().code, kTimedOut);
  EXPECT_EQ(
      code.error().message,
      "job tiny is Running after 1 s; `caravan doctor tiny -n team --context prod` says what it waits for");
}

[[noreturn]] void follow_without_room() {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  dup2(full, STDOUT_FILENO);
  ScriptedCluster cluster(planned_job());
  cluster.changes = {planned_job(), planned_job()};  // it does not end
  const auto code = follow_job(cluster, "tiny", {});
  std::_Exit(static_cast<int>(unless_output_is_lost(code ? *code : code.error().code)));
}

TEST(FollowJobDeathTest, EndsWhereStandardOutputTakesNoMore) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(follow_without_room(), ::testing::ExitedWithCode(1), "not everything could be written");
}

}  // namespace
}  // namespace caravan::cli
