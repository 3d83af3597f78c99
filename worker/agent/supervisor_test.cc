#include "worker/agent/supervisor.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "common/json.h"
#include "common/testing/temporary_folder.h"
#include "worker/agent/out_of_memory.h"
#include "worker/agent/testing/scripted_job.h"

namespace caravan::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class SupervisorTest : public ::testing::Test {
 protected:
  void start(const std::string& script, int ranks = 2,
             const std::string& trainer = testing::scripted_rank()) {
    setenv("CARAVAN_SCRIPT", script.c_str(), 1);
    supervisor_.emplace(SupervisorConfig{.job = testing::scripted_job(1, ranks, 3),
                                         .node = 0,
                                         .trainer = trainer,
                                         .directory = folder_.path(),
                                         .ranks = {.host = "127.0.0.1"}});
    supervisor_->start({.attempt = 1, .address = "127.0.0.1", .port = 29500}, UniqueFd());
  }

  // Everything until no rank is left.
  RankNews run() {
    RankNews all;
    while (true) {
      RankNews news = supervisor_->collect();
      for (auto& line : news.log) all.log.push_back(line);
      for (auto& update : news.updates) all.updates.push_back(update);
      for (auto& exit : news.exits) all.exits.push_back(exit);
      if (supervisor_->idle()) return all;
      wait();
    }
  }
  void wait() {
    std::vector<pollfd> descriptors;
    supervisor_->watch(descriptors);
    poll(descriptors.data(), descriptors.size(), -1);
  }
  // Until every rank has reported that it started.
  void wait_for_start(int ranks) {
    for (int started = 0; started < ranks; wait()) {
      for (const auto& update : supervisor_->collect().updates)
        started += update.report().has_started() ? 1 : 0;
      if (started == ranks) return;
    }
  }

  test::TemporaryFolder folder_;
  std::optional<Supervisor> supervisor_;
};

TEST_F(SupervisorTest, RanksReportTheirStepsAndEnd) {
  start("");
  const RankNews news = run();
  std::map<int, int> steps;
  for (const auto& update : news.updates) {
    EXPECT_EQ(update.attempt(), 1);
    if (update.report().has_step()) steps[update.rank()] = update.report().step().step();
  }
  EXPECT_THAT(steps, ElementsAre(Pair(0, 3), Pair(1, 3)));
  ASSERT_EQ(news.exits.size(), 2U);
  for (const auto& exit : news.exits) EXPECT_EQ(exit.exit_code(), 0);
}

TEST_F(SupervisorTest, WhatARankSaidBeforeItDiedIsNotLost) {
  start("rank=0 step=3 fail=NonFiniteLoss; rank=1 step=3 exit=7 log=last_words");
  const RankNews news = run();
  int last_steps = 0;
  for (const auto& update : news.updates) last_steps += update.report().step().step() == 3 ? 1 : 0;
  EXPECT_EQ(last_steps, 2);
  std::vector<std::string> said;
  for (const RankLogLine& line : news.log) {
    if (line.rank == 1) said.push_back(line.text);
  }
  EXPECT_THAT(said, ElementsAre("rank 1 of 2 starts", "last_words"));
  ASSERT_EQ(news.exits.size(), 2U);
  for (const auto& exit : news.exits) {
    if (exit.rank() == 0) {
      EXPECT_EQ(exit.failure().reason(), "NonFiniteLoss");
    } else {
      EXPECT_EQ(exit.exit_code(), 7);
      EXPECT_THAT(exit.last_log_lines(), ElementsAre("rank 1 of 2 starts", "last_words"));
    }
  }
}

TEST_F(SupervisorTest, ASignalThatNobodyOfUsSentIsTold) {
  start("rank=0 step=1 signal=9", 1);
  const RankNews news = run();
  ASSERT_EQ(news.exits.size(), 1U);
  EXPECT_EQ(news.exits[0].signal(), SIGKILL);
  EXPECT_EQ(news.exits[0].exit_code(), -1);
  EXPECT_FALSE(news.exits[0].out_of_memory());
}

TEST_F(SupervisorTest, HangingRanksEndWhenTheyAreStoppedAndAreNotTold) {
  start("step=1 hang");
  wait_for_start(2);
  supervisor_->stop();
  EXPECT_TRUE(run().exits.empty());
}

TEST_F(SupervisorTest, ARankThatDiedBeforeItIsStoppedIsTold) {
  start("rank=0 step=1 signal=9", 1);
  siginfo_t dead{};
  ASSERT_EQ(waitid(P_ALL, 0, &dead, WEXITED | WNOWAIT), 0);
  supervisor_->stop();
  const RankNews news = run();
  ASSERT_EQ(news.exits.size(), 1U);
  EXPECT_EQ(news.exits[0].signal(), SIGKILL);
}

TEST_F(SupervisorTest, TheEndOfALineThatIsTooLongIsNoReport) {
  start("step=1 overlong", 1);
  const RankNews news = run();
  EXPECT_EQ(news.updates.size(), 5U) << "started, three steps, finished";
  for (const auto& update : news.updates) EXPECT_NE(update.report().finished().step(), 99);
}

TEST_F(SupervisorTest, LinesThatAreNoReportsAreLeftOut) {
  start("step=1 garbage", 1);
  const RankNews news = run();
  EXPECT_EQ(news.updates.size(), 5U) << "started, three steps, finished";
  EXPECT_EQ(news.exits[0].exit_code(), 0);
}

TEST_F(SupervisorTest, ACommandReachesEveryRank) {
  start("step=1 await");
  v1alpha1::RankCommand command;
  command.set_stop_after_step(2);
  supervisor_->command(command);
  int finished = 0;
  for (const auto& update : run().updates) finished += update.report().finished().step() == 2 ? 1 : 0;
  EXPECT_EQ(finished, 2);
}

TEST_F(SupervisorTest, ATrainerThatCannotStartIsADeathWithTheReason) {
  start("", 2, "/no/such/trainer");
  const RankNews news = supervisor_->collect();
  EXPECT_TRUE(supervisor_->idle());
  ASSERT_EQ(news.exits.size(), 2U);
  EXPECT_THAT(news.exits[1].failure().message(),
              HasSubstr("cannot start /no/such/trainer: No such file or directory"));
}

TEST_F(SupervisorTest, AFolderThatCannotBeMadeIsADeathOfEachRankWithTheReason) {
  const std::filesystem::path place = folder_.write("full", "");
  Supervisor supervisor({.job = testing::scripted_job(1, 2, 3),
                         .trainer = testing::scripted_rank(),
                         .directory = place,
                         .ranks = {.host = "127.0.0.1"}});
  supervisor.start({.attempt = 1, .address = "127.0.0.1", .port = 29500}, UniqueFd());
  const RankNews news = supervisor.collect();
  ASSERT_EQ(news.exits.size(), 2U);
  for (const auto& exit : news.exits)
    EXPECT_EQ(exit.failure().message(),
              "cannot make " + (place / "attempt-1").string() + ": Not a directory");
}

TEST_F(SupervisorTest, AFolderThatIsALinkIsADeathOfEachRankWithTheReason) {
  namespace fs = std::filesystem;
  const fs::path theirs = folder_.path("theirs");
  for (const fs::path& folder : {theirs, folder_.path() / "node-1"}) fs::create_directory(folder);
  for (const char* link : {"node-0", "node-1/attempt-1"})
    fs::create_directory_symlink(theirs, folder_.path(link));
  for (const char* link : {"node-0", "node-1/attempt-1"}) {
    const fs::path node = folder_.path() / fs::path(link).begin()->string();
    Supervisor supervisor({.job = testing::scripted_job(1, 2, 3),
                           .trainer = testing::scripted_rank(),
                           .directory = node,
                           .ranks = {.host = "127.0.0.1"}});
    supervisor.start({.attempt = 1, .address = "127.0.0.1", .port = 29500}, UniqueFd());
    const RankNews news = supervisor.collect();
    ASSERT_EQ(news.exits.size(), 2U) << link;
    for (const auto& exit : news.exits)
      EXPECT_THAT(exit.failure().message(), HasSubstr("cannot use " + folder_.path(link) + ": it is a link"));
  }
  EXPECT_TRUE(fs::is_empty(theirs));
}

TEST_F(SupervisorTest, NothingIsWrittenThroughALinkThatOthersPutThere) {
  const std::string theirs = folder_.write("theirs", "theirs");
  std::filesystem::create_directory(folder_.path("attempt-1"));
  std::filesystem::create_symlink(theirs, folder_.path("attempt-1/rank-0.json"));
  std::filesystem::create_symlink(theirs, folder_.path("attempt-1/rank-1.log"));
  start("");
  const RankNews news = supervisor_->collect();
  EXPECT_TRUE(supervisor_->idle());
  ASSERT_EQ(news.exits.size(), 2U);
  for (const auto& exit : news.exits)
    EXPECT_THAT(exit.failure().message(), HasSubstr("cannot write " + folder_.path("attempt-1/rank-")));
  EXPECT_EQ(test::contents(theirs), "theirs");
}

TEST_F(SupervisorTest, WhatARankGetsIsForThisUserAloneAlsoWhereOthersCouldReadTheFileBefore) {
  using std::filesystem::perms;
  const auto files = {"attempt-1/rank-0.json", "attempt-1/rank-0.log"};
  for (const char* file : files) std::filesystem::permissions(folder_.write(file, ""), perms(0644));
  start("", 1);
  run();
  for (const char* file : files) {
    EXPECT_EQ(std::filesystem::status(folder_.path(file)).permissions(),
              perms::owner_read | perms::owner_write)
        << file;
  }
}

TEST_F(SupervisorTest, WhereThereIsLittleRoomTheLogsOfTheLastAttemptsStay) {
  setenv("CARAVAN_SCRIPT", "", 1);
  for (const bool trims_logs : {false, true}) {
    const std::filesystem::path place = folder_.path(trims_logs ? "small" : "large");
    supervisor_.emplace(SupervisorConfig{.job = testing::scripted_job(1, 1, 3),
                                         .trainer = testing::scripted_rank(),
                                         .directory = place,
                                         .ranks = {.host = "127.0.0.1"},
                                         .trims_logs = trims_logs});
    for (const int attempt : {1, 2, 4, 5, 6}) {
      supervisor_->start({.attempt = attempt, .address = "127.0.0.1", .port = 29500}, UniqueFd());
      run();
    }
    for (const int attempt : {1, 2})
      EXPECT_EQ(std::filesystem::exists(place / fmt::format("attempt-{}", attempt)), !trims_logs);
    for (const int attempt : {4, 5, 6})
      EXPECT_TRUE(std::filesystem::exists(place / fmt::format("attempt-{}/rank-0.log", attempt)));
  }
}

TEST_F(SupervisorTest, ARankLeavesACoreWhereOneIsAskedForAlone) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_CORE, &before), 0);
  const rlimit all{.rlim_cur = before.rlim_max, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_CORE, &all), 0);
  const std::string trainer =
      folder_.write("trainer", "#!/bin/sh\nset -- $(grep 'core file' /proc/self/limits)\necho $5\n");
  std::filesystem::permissions(trainer, std::filesystem::perms::owner_all);
  const auto limit = [&] {
    start("", 1, trainer);
    return run().log.at(0).text;
  };
  const std::string usual = limit();
  setenv("CARAVAN_CORES", "1", 1);
  const std::string asked_for = limit();
  unsetenv("CARAVAN_CORES");
  setrlimit(RLIMIT_CORE, &before);
  EXPECT_EQ(usual, before.rlim_max == 0 ? "0" : "1");
  EXPECT_EQ(asked_for, before.rlim_max == RLIM_INFINITY ? "unlimited" : std::to_string(before.rlim_max));
}

TEST_F(SupervisorTest, ARankIsToldItsPlaceInTheJob) {
  start("", 2);
  run();
  std::ifstream file(folder_.path() / "attempt-1" / "rank-1.json");
  std::ostringstream text;
  text << file.rdbuf();
  const auto config = from_json<v1alpha1::RankConfig>(text.str());
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->rank(), 1);
  EXPECT_EQ(config->local_rank(), 1);
  EXPECT_EQ(config->world_size(), 2);
  EXPECT_EQ(config->master_port(), 29500);
  EXPECT_EQ(config->master_listen_fd(), -1) << "only rank 0 listens";
  EXPECT_GT(config->report_fd(), 2);
  EXPECT_GT(config->command_fd(), 2);
  EXPECT_EQ(config->network_interface(), "lo");
}

TEST(RankConfig, LocalRanksAreCountedOnTheirNode) {
  const v1alpha1::JobPlan job = testing::scripted_job(2, 4, 1);
  const auto config = make_rank_config(job, {.attempt = 3, .address = "10.0.0.1", .port = 1}, 3,
                                       {.host = "10.0.0.2", .threads = 2, .trace_directory = "/traces"});
  EXPECT_EQ(config.local_rank(), 1);
  EXPECT_EQ(config.attempt(), 3);
  EXPECT_EQ(config.network_interface(), "10.0.0.2");
  EXPECT_EQ(config.trace_directory(), "/traces");
  EXPECT_THAT(rank_environment(config), ElementsAre(Pair("RANK", "3"), Pair("LOCAL_RANK", "1"),
                                                    Pair("WORLD_SIZE", "4"), Pair("MASTER_ADDR", "10.0.0.1"),
                                                    Pair("MASTER_PORT", "1"), Pair("OMP_NUM_THREADS", "2")));
}

TEST(JobShape, RanksStandInBlocks) {
  const planner::JobShape shape{.nodes = 2, .world_size = 3};
  EXPECT_EQ(shape.last_rank(0), 1);
  EXPECT_EQ(shape.first_rank(1), 2);
  EXPECT_EQ(shape.last_rank(1), 2);
  EXPECT_EQ(shape.node_of(2), 1);
  EXPECT_FALSE(shape.owns(1, 3));
}

TEST(OutOfMemory, TheKernelsCounterIsRead) {
  EXPECT_EQ(parse_oom_kills("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\n"), 2);
  EXPECT_EQ(parse_oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 5\n"), 5);
  EXPECT_EQ(parse_oom_kills("nr_free_pages 1\n"), std::nullopt);
}

}  // namespace
}  // namespace caravan::agent
