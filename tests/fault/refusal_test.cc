// A system that refuses every thread, as at pids.max, or room for what is printed: programs say so and end,
// and nobody takes it for a crash.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "common/testing/checkout.h"
#include "common/testing/shell.h"
#include "common/testing/temporary_folder.h"

namespace caravan {
namespace {

using test::run_shell;
using ::testing::HasSubstr;

class Refusal : public ::testing::Test {
 protected:
  // Threads get a stack of the size that is the limit of the first one's, and so large a one is none.
  void expect_refusal(const std::string& program, const std::string& arguments) const {
    const auto end = run_shell(fmt::format("ulimit -S -s $((200 << 30)); exec '{}/{}' {}",
                                           test::program_folder(), program, arguments));
    EXPECT_EQ(end.exit_code, 1) << end.err;
    EXPECT_THAT(end.out + end.err, HasSubstr("the system refused: Resource temporarily unavailable; raise"));
  }

  const test::TemporaryFolder folder_;
};

TEST_F(Refusal, OfTheAgent) {
  const std::string plan =
      folder_.write("plan.json", R"({"jobName": "job", "nodes": 1, "spec": {"training": {"steps": 1}},
                                     "plan": {"tensor": 1, "pipeline": 1, "data": 1}})");
  expect_refusal("caravan-agent",
                 fmt::format("--plan '{}' --node 0 --listen 127.0.0.1:0 --metrics 127.0.0.1:0 "
                             "--trainer /bin/true",
                             plan));
}

TEST_F(Refusal, OfTheOperator) {
  const std::string config = folder_.write(
      "kubeconfig",
      R"({"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
                        "users": [{"name": "u", "user": {"token": "t"}}]})");
  expect_refusal("caravan-operator", fmt::format("--kubeconfig '{}' --worker-image w --probes 127.0.0.1:0 "
                                                 "--metrics 127.0.0.1:0",
                                                 config));
}

TEST_F(Refusal, OfTheTrainer) {
  const std::string config = folder_.write("rank.json", R"({
    "rank": 0, "worldSize": 1, "commandFd": 3, "threads": 1,
    "spec": {"model": {"preset": "llama-tiny"}, "data": {"path": "/nonexistent"},
             "training": {"steps": 1, "sequenceLength": 32, "globalBatchSequences": 1}, "resources": {"devices": 1}},
    "plan": {"tensor": 1, "pipeline": 1, "data": 1, "microBatchSize": 1, "layersPerStage": [4], "schedule": "1F1B"}})");
  expect_refusal("caravan-trainer", fmt::format("--config '{}' 3</dev/null", config));
}

TEST_F(Refusal, OfWhatIsPrinted) {
  for (const char* program : {"caravan", "caravan-agent", "caravan-generate", "caravan-operator",
                              "caravan-service", "caravan-trainer"}) {
    for (const char* flag : {"--help", "--version"}) {
      const std::string command = fmt::format("'{}/{}' {} >/dev/full", test::program_folder(), program, flag);
      const auto end = run_shell(command);
      EXPECT_EQ(end.exit_code, 1) << command;
      EXPECT_THAT(end.err, HasSubstr("standard output: not everything could be written")) << command;
      EXPECT_EQ(run_shell(command + " 2>&1").exit_code, 1) << command;
    }
  }
  EXPECT_EQ(run_shell(fmt::format("'{}/caravan' >/dev/full", test::program_folder())).exit_code, 1);
}

}  // namespace
}  // namespace caravan
