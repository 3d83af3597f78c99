#include "cli/run/agent_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace caravan::cli {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::Pair;

const AgentSettings kSettings{.work_directory = "/tmp/w",
                              .socket_directory = "/tmp/s",
                              .nodes = 2,
                              .threads_per_rank = 3,
                              .metrics_port = 9400,
                              .launcher = 77};

TEST(AgentCommand, NodeZeroHostsTheCoordinatorAndTellsTheStory) {
  EXPECT_THAT(agent_arguments(kSettings, {.node = 0,
                                          .first_attempt = 4,
                                          .restarts = 2,
                                          .counted_restarts = 1,
                                          .window_age_seconds = 30,
                                          .short_attempts = 5,
                                          .elapsed_seconds = 60}),
              testing::ElementsAre("--plan", "/tmp/w/plan.json", "--node", "0", "--coordinator",
                                   "unix:/tmp/s/coordinator.sock", "--work-directory", "/tmp/w", "--threads",
                                   "3", "--end-with-parent", "77", "--metrics", "127.0.0.1:9400", "--listen",
                                   "unix:/tmp/s/coordinator.sock", "--reports", "unix:/tmp/s/reports.sock",
                                   "--first-attempt", "4", "--restarts", "2", "--counted-restarts", "1",
                                   "--restart-window-age-seconds", "30", "--short-attempts", "5",
                                   "--elapsed-seconds", "60"));
}

TEST(AgentCommand, AFolderOfAnyNameIsPartOfAnAddress) {
  AgentSettings settings = kSettings;
  settings.socket_directory = "/tmp/exp#3 50%?/é";
  EXPECT_EQ(reports_address(settings), "unix:/tmp/exp%233%2050%25%3F/%C3%A9/reports.sock");
}

TEST(AgentCommand, OtherNodesOnlyJoin) {
  const auto arguments = agent_arguments(kSettings, {.node = 1, .first_attempt = 4, .restarts = 2});
  EXPECT_THAT(arguments, IsSupersetOf({"--coordinator", "unix:/tmp/s/coordinator.sock", "127.0.0.1:9401"}));
  for (const char* flag : {"--listen", "--reports", "--first-attempt", "--restarts", "--short-attempts"}) {
    EXPECT_THAT(arguments, Not(Contains(flag)));
  }
}

TEST(AgentCommand, EveryNodeKnowsWhereTracesGo) {
  AgentSettings settings = kSettings;
  EXPECT_THAT(agent_arguments(settings, {.node = 1}), Not(Contains("--trace-directory")));
  settings.trace_directory = "/tmp/t";
  for (const int node : {0, 1})
    EXPECT_THAT(agent_arguments(settings, {.node = node}), IsSupersetOf({"--trace-directory", "/tmp/t"}));
}

TEST(AgentCommand, EveryNodeKnowsItsProcessors) {
  AgentSettings settings = kSettings;
  EXPECT_THAT(agent_arguments(settings, {}), Not(Contains("--processors")));
  settings.processors = {{0, 4}, {1, 5, 2}};
  EXPECT_THAT(agent_arguments(settings, {}), IsSupersetOf({"--processors", "0,4"}));
  EXPECT_THAT(agent_arguments(settings, {.node = 1}), IsSupersetOf({"--processors", "1,5,2"}));
}

TEST(AgentCommand, EveryNodeSeesItsGpusAlone) {
  AgentSettings settings = kSettings;
  EXPECT_THAT(agent_environment(settings, 0), IsEmpty()) << "a job on CPUs";
  const std::vector<std::string> gpus = {"7", "5", "3", "1"};
  EXPECT_THAT(share_gpus(gpus, {.nodes = 1, .world_size = 3}), IsEmpty()) << "as CUDA chooses";
  settings.gpus = share_gpus(gpus, {.nodes = 2, .world_size = 3});
  EXPECT_THAT(agent_environment(settings, 0), Contains(Pair("CUDA_VISIBLE_DEVICES", "7,5")));
  EXPECT_THAT(agent_environment(settings, 1), Contains(Pair("CUDA_VISIBLE_DEVICES", "3")));
}

TEST(AgentCommand, TheAgentThatHasTheStepsDrawsThem) {
  AgentSettings settings = kSettings;
  EXPECT_THAT(agent_arguments(settings, {}), Not(Contains("--tensorboard")));
  settings.event_folder = "/tmp/runs";
  EXPECT_THAT(agent_arguments(settings, {}), IsSupersetOf({"--tensorboard", "/tmp/runs"}));
  EXPECT_THAT(agent_arguments(settings, {.node = 1}), Not(Contains("--tensorboard")));
}

TEST(AgentCommand, MetricsAreOffWithoutAPort) {
  AgentSettings settings = kSettings;
  settings.metrics_port.reset();
  EXPECT_THAT(agent_arguments(settings, {}), Not(Contains("--metrics")));
}

}  // namespace
}  // namespace caravan::cli
