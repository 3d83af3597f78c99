#include "cli/cluster/log_printer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "cli/cluster/testing/jobs.h"
#include "cli/cluster/testing/scripted_cluster.h"
#include "common/standard_stream.h"

namespace caravan::cli {
namespace {

using ::testing::AllOf;
using testing::condition;
using ::testing::HasSubstr;
using testing::job_object_with;
using testing::ScriptedCluster;

constexpr const char* kOfTwoNodes = R"({"plan": {"document": "{\"plan\": {\"devicesPerNode\": 8}}"}})";
constexpr const char* kOfOneNode = R"({"plan": {"document": "{\"plan\": {\"devicesPerNode\": 16}}"}})";

Status tell_of_node(const LogQuestion& question, const TakeLine& take) {
  take(fmt::format("of node {}", question.node));
  return {};
}

struct Printed {
  Result<ExitCode> code;
  std::string out;
  std::string err;
};

Printed print_all(ScriptedCluster& cluster, bool follow) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  auto code = print_logs(cluster, {.question = {.job = "tiny", .follow = follow}, .all_nodes = true});
  return {std::move(code), ::testing::internal::GetCapturedStdout(),
          ::testing::internal::GetCapturedStderr()};
}

TEST(LogPrinter, FollowsAllNodesOfAJobThatIsPlannedLater) {
  ScriptedCluster cluster(job_object_with("{}"));
  cluster.changes = {job_object_with("{}"), job_object_with(kOfTwoNodes)};
  cluster.log = tell_of_node;
  const Printed printed = print_all(cluster, true);
  ASSERT_TRUE(printed.code) << printed.code.error().message;
  EXPECT_EQ(*printed.code, ExitCode::kDone);
  EXPECT_THAT(printed.out, AllOf(HasSubstr("[node 0] of node 0\n"), HasSubstr("[node 1] of node 1\n")));
}

TEST(LogPrinter, WaitsForNoPlanOfAJobThatEndsWithoutOne) {
  ScriptedCluster cluster(job_object_with("{}"));
  cluster.changes = {
      job_object_with(fmt::format(R"({{"conditions": [{}]}})", condition("Failed", "True", "DoesNotFit")))};
  cluster.log = [&](const LogQuestion& question, const TakeLine&) -> Status {
    return tl::unexpected(cluster.has_no_pod(question, "Failed"));
  };
  const Printed printed = print_all(cluster, true);
  ASSERT_TRUE(printed.code);
  EXPECT_EQ(*printed.code, ExitCode::kJobFailed);
  EXPECT_EQ(printed.err,
            "job tiny has no pod of node 0 now; it is Failed, and `caravan doctor tiny -n team` says more\n");
}

TEST(LogPrinter, NamesTheNodeThatIsAbsentAndShowsTheOthers) {
  for (const bool follow : {false, true}) {
    ScriptedCluster cluster(job_object_with(kOfTwoNodes));
    cluster.log = [&](const LogQuestion& question, const TakeLine& take) -> Status {
      if (question.node == 0) return tl::unexpected(cluster.has_no_pod(question, "Running"));
      return tell_of_node(question, take);
    };
    const Printed printed = print_all(cluster, follow);
    ASSERT_TRUE(printed.code);
    EXPECT_EQ(*printed.code, ExitCode::kJobFailed) << follow;
    EXPECT_EQ(printed.out, "[node 1] of node 1\n") << follow;
    EXPECT_THAT(printed.err, HasSubstr("job tiny has no pod of node 0 now")) << follow;
  }
}

TEST(LogPrinter, NamesTheNodeOfEachMistake) {
  for (const bool follow : {false, true}) {
    ScriptedCluster cluster(job_object_with(kOfTwoNodes));
    cluster.log = [](const LogQuestion&, const TakeLine&) -> Status { return failure("the log is lost"); };
    EXPECT_THAT(print_all(cluster, follow).err,
                AllOf(HasSubstr("node 0: the log is lost\n"), HasSubstr("node 1: the log is lost\n")))
        << follow;
  }
}

TEST(LogPrinter, NamesNoNodeOfAJobThatHasButOne) {
  ScriptedCluster cluster(job_object_with(kOfOneNode));
  cluster.log = tell_of_node;
  EXPECT_EQ(print_all(cluster, true).out, "of node 0\n");
}

TEST(LogPrinter, FollowsNoMoreThanSoManyNodesAtOnce) {
  std::string many = boost::json::serialize(job_object_with(kOfOneNode));
  many.replace(many.find("\"devices\":16"), 12, "\"devices\":1040");
  ScriptedCluster cluster(kube::parse_json(many, "job").value());
  const Printed printed = print_all(cluster, true);
  ASSERT_FALSE(printed.code);
  EXPECT_THAT(printed.code.error().message, HasSubstr("job tiny has 65 nodes, and 64 are followed at once"));
}

enum class Loss { kFullDisk, kClosedPipe };

void lose_output(Loss loss) {
  int ends[2] = {-1, open("/dev/full", O_WRONLY | O_CLOEXEC)};
  if (loss == Loss::kClosedPipe) {
    std::signal(SIGPIPE, SIG_IGN);
    if (pipe(ends) != 0) std::_Exit(99);
    close(ends[0]);
  }
  dup2(ends[1], STDOUT_FILENO);
}

// Node 0 tells on and on, and any other waits for its first line.
[[noreturn]] void follow_without_output(Loss loss, const char* status) {
  lose_output(loss);
  ScriptedCluster cluster(job_object_with(status));
  cluster.log = [](const LogQuestion& question, const TakeLine& take) -> Status {
    while (!question.stop.stop_requested()) {
      if (question.node == 0) take("a line");
      std::this_thread::yield();
    }
    return failure("stopped");
  };
  const auto code = print_logs(cluster, {.question = {.job = "tiny", .follow = true}, .all_nodes = true});
  std::_Exit(static_cast<int>(unless_output_is_lost(code ? *code : code.error().code)));
}

TEST(LogPrinterDeathTest, EndsWhereStandardOutputTakesNoMore) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const char* status : {kOfOneNode, kOfTwoNodes}) {
    for (const Loss loss : {Loss::kFullDisk, Loss::kClosedPipe}) {
      EXPECT_EXIT(follow_without_output(loss, status), ::testing::ExitedWithCode(1),
                  "^standard output: not everything could be written; give it room and an open end\n$");
    }
  }
}

[[noreturn]] void read_without_output() {
  lose_output(Loss::kFullDisk);
  ScriptedCluster cluster(job_object_with(kOfTwoNodes));
  cluster.log = [](const LogQuestion& question, const TakeLine& take) -> Status {
    if (question.node != 0) std::_Exit(98);
    return tell_of_node(question, take);
  };
  const auto code = print_logs(cluster, {.question = {.job = "tiny"}, .all_nodes = true});
  std::_Exit(code ? 0 : 97);
}

TEST(LogPrinterDeathTest, ReadsOfNoOtherNodeWhereStandardOutputTakesNoMore) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(read_without_output(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace caravan::cli
