// Whole gangs: real agents in processes of their own, scripted ranks, a JobReports service in the test.
// Whatever is killed, the job goes on or ends with the cause, and nothing is left running.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <mutex>
#include <thread>

#include "caravan/v1alpha1/coordination.grpc.pb.h"
#include "common/json.h"
#include "common/listen.h"
#include "common/process.h"
#include "common/testing/checkout.h"
#include "common/testing/temporary_folder.h"
#include "worker/agent/testing/scripted_job.h"

namespace caravan::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using v1alpha1::JobReport;
using v1alpha1::ReportCommand;

constexpr char kMarker[] = "CARAVAN_TEST_GANG";
// What should happen at once is given this long on a busy machine before the test fails.
constexpr std::chrono::seconds kPatience{60};

// Takes the reports of one job and can tell it to stop.
class Reports final : public v1alpha1::JobReports::Service {
 public:
  grpc::Status Report(grpc::ServerContext*,
                      grpc::ServerReaderWriter<ReportCommand, JobReport>* stream) override {
    JobReport report;
    while (stream->Read(&report)) {
      const bool last = report.has_result();
      const bool stop = add(report);
      ReportCommand command;
      if (stop) command.set_stop(true);
      if (last) command.set_acknowledge_result(true);
      if (stop || last) stream->Write(command);
    }
    return grpc::Status::OK;
  }

  // The first report that is as wanted; fails the test when it does not come.
  std::optional<JobReport> wait_for(const std::function<bool(const JobReport&)>& wanted) {
    std::unique_lock lock(mutex_);
    std::size_t seen = 0;
    std::optional<JobReport> found;
    changed_.wait_for(lock, kPatience, [&] {
      for (; seen < all_.size() && !found; ++seen) {
        if (wanted(all_[seen])) found = all_[seen];
      }
      return found.has_value();
    });
    EXPECT_TRUE(found) << "the report did not come";
    return found;
  }
  std::vector<JobReport> all() {
    const std::scoped_lock lock(mutex_);
    return all_;
  }
  // Answers the next steps with commands to stop.
  void stop_at_step(int times) { stops_ = times; }

 private:
  bool add(const JobReport& report) {
    const std::scoped_lock lock(mutex_);
    all_.push_back(report);
    changed_.notify_all();
    return report.has_step() && stops_.fetch_sub(1) > 0;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<JobReport> all_;
  std::atomic<int> stops_{0};
};

bool environment_has(const fs::path& process, const std::string& entry) {
  std::ifstream file(process / "environ", std::ios::binary);
  for (std::string line; std::getline(file, line, '\0');) {
    if (line == entry) return true;
  }
  return false;
}

bool is_zombie(const fs::path& process) {
  std::ifstream file(process / "stat");
  std::string text;
  std::getline(file, text);
  const auto name_end = text.rfind(')');
  return name_end == std::string::npos || text.substr(name_end + 2, 1) == "Z";
}

// Processes that carry the marker of this gang in their environment.
std::vector<pid_t> marked_processes(const std::string& marker) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (environment_has(entry.path(), marker) && !is_zombie(entry.path())) found.push_back(std::stoi(name));
  }
  return found;
}

class GangTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static int count = 0;
    marker_ = fmt::format("{}-{}", getpid(), ++count);
    grpc::ServerBuilder builder;
    builder.AddListeningPort(reports_address(), grpc::InsecureServerCredentials());
    builder.RegisterService(&reports_);
    server_ = builder.BuildAndStart();
    ASSERT_TRUE(server_);
  }
  void TearDown() override {
    agents_.clear();
    server_->Shutdown(std::chrono::system_clock::now());
    EXPECT_TRUE(nothing_left());
  }

  std::string reports_address() const { return "unix:" + (folder_.path() / "reports").string(); }

  void plan(int nodes, int ranks, int steps, int max_restarts = 3) {
    job_ = testing::scripted_job(nodes, ranks, steps);
    job_.mutable_spec()->mutable_failure_policy()->set_max_restarts(max_restarts);
  }
  SpawnOptions agent_options(int node, const std::vector<std::string>& more = {}) {
    std::ofstream(folder_.path() / "plan.json") << to_json(job_);
    SpawnOptions options{.program = test::program_folder() + "/caravan-agent"};
    options.arguments = {"--plan",
                         folder_.path() / "plan.json",
                         "--node",
                         std::to_string(node),
                         "--coordinator",
                         "unix:" + (folder_.path() / "coordinator").string(),
                         "--trainer",
                         testing::scripted_rank(),
                         "--work-directory",
                         folder_.path() / "work",
                         "--heartbeat-milliseconds",
                         "200"};
    if (node == 0) options.arguments.insert(options.arguments.end(), {"--reports", reports_address()});
    options.arguments.insert(options.arguments.end(), more.begin(), more.end());
    options.environment = {
        {kMarker, marker_}, {"CARAVAN_SCRIPT", script_}, {"CARAVAN_STEP_MILLISECONDS", "5"}};
    return options;
  }
  void start_agent(int node, const std::vector<std::string>& more = {}) {
    auto agent = Process::spawn(agent_options(node, more));
    ASSERT_TRUE(agent) << agent.error().message;
    agents_.insert_or_assign(node, std::move(*agent));
  }
  int exit_code(int node) { return agents_.at(node).wait().exit_code; }

  // Process of a rank that has started in this attempt.
  pid_t process_of(int rank, int attempt) {
    int current = 0;
    const auto report = reports_.wait_for([&](const JobReport& r) {
      if (r.has_attempt_started()) current = r.attempt_started().attempt();
      return current == attempt && r.has_rank_started() && r.rank_started().rank() == rank;
    });
    return report ? static_cast<pid_t>(report->rank_started().process_id()) : -1;
  }
  v1alpha1::JobEvent wait_for_event() {
    const auto report = reports_.wait_for([](const JobReport& r) { return r.has_event(); });
    return report ? report->event() : v1alpha1::JobEvent();
  }
  v1alpha1::JobResult result() {
    const auto report = reports_.wait_for([](const JobReport& r) { return r.has_result(); });
    return report ? report->result() : v1alpha1::JobResult();
  }
  bool nothing_left() {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!marked_processes(fmt::format("{}={}", kMarker, marker_)).empty()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  test::TemporaryFolder folder_;
  std::string marker_;
  std::string script_;
  v1alpha1::JobPlan job_;
  Reports reports_;
  std::unique_ptr<grpc::Server> server_;
  std::map<int, Process> agents_;
};

TEST_F(GangTest, TwoAgentsTrainToTheLastStep) {
  plan(2, 4, 20);
  start_agent(1);
  start_agent(0);
  EXPECT_EQ(exit_code(0), 0);
  EXPECT_EQ(exit_code(1), 0);
  EXPECT_EQ(result().result(), "Complete");
  std::vector<int> steps;
  for (const JobReport& report : reports_.all()) {
    if (report.has_step()) steps.push_back(report.step().step());
  }
  ASSERT_EQ(steps.size(), 20U);
  EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end()));
}

TEST_F(GangTest, AKilledRankCostsOneAttempt) {
  script_ = "attempt=1 step=10 hang";
  plan(2, 4, 20);
  start_agent(0);
  start_agent(1);
  kill(process_of(2, 1), SIGKILL);
  const auto event = wait_for_event();
  EXPECT_EQ(event.reason(), "RankFailed");
  EXPECT_EQ(event.rank(), 2);
  EXPECT_THAT(event.message(), HasSubstr("of signal 9 (SIGKILL)"));
  EXPECT_EQ(exit_code(0), 0);
  EXPECT_EQ(exit_code(1), 0);
  EXPECT_EQ(result().restarts(), 1);
}

TEST_F(GangTest, TwoRanksKilledAtOnceCostOneAttempt) {
  script_ = "attempt=1 step=10 hang";
  plan(2, 4, 20);
  start_agent(0);
  start_agent(1);
  const pid_t first = process_of(0, 1);
  const pid_t second = process_of(3, 1);
  kill(first, SIGKILL);
  kill(second, SIGKILL);
  EXPECT_EQ(exit_code(0), 0);
  EXPECT_EQ(result().restarts(), 1);
}

TEST_F(GangTest, AKilledAgentComesBackAndTheJobGoesOn) {
  script_ = "attempt=1 step=10 hang";
  plan(2, 4, 20);
  start_agent(0);
  start_agent(1);
  process_of(3, 1);
  kill(agents_.at(1).pid(), SIGKILL);
  agents_.at(1).wait();
  EXPECT_EQ(wait_for_event().reason(), "PodLost");
  start_agent(1);
  EXPECT_EQ(exit_code(0), 0);
  EXPECT_EQ(exit_code(1), 0);
}

TEST_F(GangTest, TheAgentOfNodeZeroComesBackAndAttemptsGoOn) {
  script_ = "attempt=1 step=10 hang";
  plan(2, 4, 20);
  start_agent(0);
  start_agent(1);
  process_of(3, 1);
  kill(agents_.at(0).pid(), SIGKILL);
  agents_.at(0).wait();
  start_agent(0, {"--restarts", "1"});
  EXPECT_EQ(exit_code(0), 0);
  EXPECT_EQ(exit_code(1), 0);
  EXPECT_EQ(result().restarts(), 1);
  int last_attempt = 0;
  for (const JobReport& report : reports_.all()) {
    if (report.has_attempt_started()) last_attempt = report.attempt_started().attempt();
  }
  EXPECT_EQ(last_attempt, 2) << "the other agent has seen attempt 1";
}

// Its predecessor was lost before the gang ran, so nobody else has seen the attempts before.
TEST_F(GangTest, AnAgentThatIsMadeForALaterAttemptTakesTheOthersThere) {
  plan(2, 4, 5);
  start_agent(0);
  start_agent(1, {"--first-attempt", "3"});
  EXPECT_EQ(exit_code(0), 0);
  EXPECT_EQ(exit_code(1), 0);
  const auto first = reports_.wait_for([](const JobReport& r) { return r.has_attempt_started(); });
  ASSERT_TRUE(first);
  EXPECT_EQ(first->attempt_started().attempt(), 3);
}

TEST_F(GangTest, OfTwoAgentsOfANodeTheNewerStaysAndTheOlderEnds) {
  script_ = "attempt=1 step=10 hang; attempt=2 step=10 hang";
  plan(2, 4, 20);
  start_agent(0);
  start_agent(1);
  process_of(3, 1);
  auto newer = Process::spawn(agent_options(1, {"--first-attempt", "2"}));
  ASSERT_TRUE(newer) << newer.error().message;
  EXPECT_EQ(exit_code(1), static_cast<int>(ExitCode::kInterrupted)) << "the older one";
  process_of(3, 2);
  start_agent(1);
  EXPECT_EQ(exit_code(1), static_cast<int>(ExitCode::kInterrupted)) << "it came back";
  kill(process_of(0, 2), SIGKILL);
  EXPECT_EQ(exit_code(0), 0);
  EXPECT_EQ(newer->wait().exit_code, 0);
  EXPECT_EQ(result().restarts(), 2) << "the newer one's coming cost one, the killed rank another";
}

TEST_F(GangTest, AMeetingPlaceThatCannotBeBoundIsToldAtOnce) {
  plan(1, 1, 5, 1);
  start_agent(0, {"--host", "192.0.2.1"});  // of no machine: RFC 5737
  EXPECT_EQ(exit_code(0), 1);
  EXPECT_EQ(result().reason(), "MaxRestartsReached");
  EXPECT_THAT(result().message(), HasSubstr("no place for the ranks to meet"));
}

TEST_F(GangTest, AStoppedAgentIsSilentAndLost) {
  script_ = "attempt=1 step=10 hang";
  plan(2, 4, 20);
  start_agent(0);
  start_agent(1);
  process_of(3, 1);
  kill(agents_.at(1).pid(), SIGSTOP);
  const auto event = wait_for_event();
  EXPECT_EQ(event.reason(), "PodLost");
  EXPECT_THAT(event.message(), HasSubstr("no heartbeat for"));
  kill(agents_.at(1).pid(), SIGCONT);
  EXPECT_EQ(exit_code(0), 0);
  EXPECT_EQ(exit_code(1), 0);
}

TEST_F(GangTest, AStoppedRankIsSilentAndKilled) {
  script_ = "rank=1 attempt=1 step=3 signal=19";
  plan(1, 2, 20);
  start_agent(0);
  const auto event = wait_for_event();
  EXPECT_EQ(event.reason(), "Stalled");
  EXPECT_THAT(event.message(), HasSubstr("rank 1"));
  EXPECT_EQ(exit_code(0), 0);
}

TEST_F(GangTest, ARankThatHangsStallsTheJobWhichIsRestarted) {
  script_ = "rank=1 attempt=1 step=3 hang";
  plan(1, 2, 20);
  job_.mutable_spec()->set_stall_timeout_seconds(1);
  start_agent(0);
  const auto event = wait_for_event();
  EXPECT_EQ(event.reason(), "Stalled");
  EXPECT_EQ(event.rank(), 1);
  EXPECT_THAT(event.message(), HasSubstr("rank 1 on node 0 does not answer"));
  EXPECT_EQ(exit_code(0), 0);
}

TEST_F(GangTest, ARankThatIsSlowerThanTheOthersIsNamedAndTheJobGoesOn) {
  script_ = "rank=3 slow";
  plan(2, 4, 40);
  start_agent(0);
  start_agent(1);
  const auto event = wait_for_event();
  EXPECT_EQ(event.reason(), "Straggler");
  EXPECT_EQ(event.rank(), 3);
  EXPECT_FALSE(event.restarting());
  EXPECT_THAT(event.message(), HasSubstr("rank 3 on node 1"));
  EXPECT_EQ(exit_code(0), 0);
  EXPECT_EQ(exit_code(1), 0);
  EXPECT_EQ(result().restarts(), 0);
}

TEST_F(GangTest, ALossThatIsNotFiniteEndsTheJobWithTheCause) {
  script_ = "rank=1 step=5 log=the_loss_exploded fail=NonFiniteLoss; rank=0 step=6 hang";
  plan(1, 2, 20);
  start_agent(0);
  EXPECT_EQ(exit_code(0), 1);
  EXPECT_EQ(result().reason(), "NonFiniteLoss");
  EXPECT_THAT(result().message(),
              AllOf(HasSubstr("rank 1 on node 0 died first, after step 5, of NonFiniteLoss"),
                    HasSubstr("the_loss_exploded")));
  EXPECT_LE(result().message().size(), 1024U);
}

TEST_F(GangTest, RefusedInputEndsTheJobWithExitCodeTwo) {
  script_ = "rank=0 fail=InvalidInput; rank=1 hang";
  plan(1, 2, 20);
  start_agent(0);
  EXPECT_EQ(exit_code(0), 2);
  EXPECT_EQ(result().restarts(), 0);
}

TEST_F(GangTest, WhatARankLeavesBehindEndsWithIt) {
  script_ = "child";
  plan(1, 2, 5);
  start_agent(0);
  EXPECT_EQ(exit_code(0), 0);
}

TEST_F(GangTest, AJobThatIsAskedToStopEndsCleanly) {
  plan(2, 4, 1'000'000);
  reports_.stop_at_step(1);
  start_agent(0);
  start_agent(1);
  EXPECT_EQ(exit_code(0), 130);
  EXPECT_EQ(exit_code(1), 130);
  EXPECT_EQ(result().result(), "Interrupted");
}

TEST_F(GangTest, ASecondStopEndsRanksThatHang) {
  script_ = "step=2 hang";
  plan(1, 2, 100);
  reports_.stop_at_step(2);
  start_agent(0);
  EXPECT_EQ(exit_code(0), 130);
}

TEST_F(GangTest, ASignalToTheAgentOfNodeZeroStopsTheJob) {
  plan(2, 4, 1'000'000);
  start_agent(0);
  start_agent(1);
  reports_.wait_for([](const JobReport& r) { return r.has_step(); });
  kill(agents_.at(0).pid(), SIGTERM);
  EXPECT_EQ(exit_code(0), 130);
  EXPECT_EQ(exit_code(1), 130);
}

TEST_F(GangTest, NothingOutlivesTheProcessThatStartedTheAgents) {
  script_ = "step=10 hang";
  plan(2, 4, 20);
  const pid_t launcher = fork();
  ASSERT_GE(launcher, 0);
  if (launcher == 0) {
    for (const int node : {0, 1}) {
      SpawnOptions options = agent_options(node, {"--end-with-parent", std::to_string(getpid())});
      options.end_with_parent = false;
      auto agent = Process::spawn(options);
      if (agent) new Process(std::move(*agent));  // never destroyed: this process is killed
    }
    while (true) pause();
  }
  process_of(0, 1);
  process_of(3, 1);
  kill(launcher, SIGKILL);
  waitpid(launcher, nullptr, 0);
  EXPECT_TRUE(nothing_left());
}

TEST_F(GangTest, AnAgentThatFindsNoCoordinatorGivesUp) {
  plan(2, 4, 20);
  start_agent(1, {"--rejoin-timeout-seconds", "1"});
  EXPECT_EQ(exit_code(1), 4);
}

TEST_F(GangTest, AnAddressInUseIsBadInput) {
  plan(1, 1, 5);
  const auto run = [&](const std::string& flag, const std::string& address) {
    auto pipe = make_pipe();
    SpawnOptions options = agent_options(0, {flag, address});
    options.stderr_fd = pipe->write_end.get();
    auto agent = Process::spawn(options);
    pipe->write_end.reset();
    EXPECT_EQ(agent->wait().exit_code, 2);
    std::string text(4096, '\0');
    const ssize_t count = read(pipe->read_end.get(), text.data(), text.size());
    return text.substr(0, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  };
  const auto taken = listen_on("127.0.0.1", "0");
  const std::string address = fmt::format("127.0.0.1:{}", taken->port);
  EXPECT_THAT(run("--metrics", address), HasSubstr("caravan-agent: --metrics: cannot listen on"));
  EXPECT_THAT(run("--listen", address), HasSubstr("caravan-agent: --listen: cannot listen on"));
}

TEST_F(GangTest, TheChosenAddressIsWritten) {
  plan(1, 1, 5);
  start_agent(0, {"--listen", "127.0.0.1:0", "--coordinator-address-file", folder_.path() / "address"});
  EXPECT_EQ(exit_code(0), 0);
  std::ifstream file(folder_.path() / "address");
  std::string address;
  std::getline(file, address);
  EXPECT_THAT(address, ::testing::MatchesRegex("127.0.0.1:[1-9][0-9]+"));
}

}  // namespace
}  // namespace caravan::agent
