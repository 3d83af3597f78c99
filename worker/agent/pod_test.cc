// Agents as they run in pods: mutual TLS between them, the result in a file, and a signal that ends a pod and
// not the job.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include "caravan/v1alpha1/coordination.pb.h"
#include "common/certificates.h"
#include "common/json.h"
#include "common/listen.h"
#include "common/process.h"
#include "common/testing/await.h"
#include "common/testing/checkout.h"
#include "common/testing/temporary_folder.h"
#include "proto/caravan/v1alpha1/identity.h"
#include "worker/agent/testing/scripted_job.h"

namespace caravan::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::chrono::seconds kPatience{60};

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Takes nothing more, and nobody reads it.
Pipe full_pipe() {
  Pipe pipe = make_pipe().value();
  const int end = pipe.write_end.get();
  const int flags = fcntl(end, F_GETFL);
  fcntl(end, F_SETFL, flags | O_NONBLOCK);
  const std::string page(4096, '\n');
  while (write(end, page.data(), page.size()) > 0) {
  }
  fcntl(end, F_SETFL, flags);
  return pipe;
}

// As long as somebody may write.
std::string rest_of(const UniqueFd& read_end) {
  std::string text;
  char page[4096];
  for (ssize_t count = 0; (count = read(read_end.get(), page, sizeof page)) > 0;)
    text.append(page, static_cast<std::size_t>(count));
  return text;
}

bool blocks(pid_t process, int signal) {
  const std::string status = text_of(fmt::format("/proc/{}/status", process));
  const std::string_view field = "SigBlk:";
  const auto at = status.find(field);
  if (at == std::string::npos) return false;
  return (std::stoull(status.substr(at + field.size()), nullptr, 16) >> (signal - 1) & 1) != 0;
}

class PodTest : public ::testing::Test {
 protected:
  PodTest() {
    job_ = testing::scripted_job(2, 2, 20);
    write_certificates("tls-0", authority_, 0);
    write_certificates("tls-1", authority_, 1);
    write_certificates("tls-2", authority_, 2);
    write_certificates("foreign", make_authority("foreign", std::chrono::hours(1)).value(), 1);
    fs::copy(folder_.path() / "foreign", folder_.path() / "trusting");
    std::ofstream(folder_.path() / "trusting" / "ca.crt") << authority_.certificate_pem;
  }

  // As the operator issues them.
  void write_certificates(const std::string& name, const KeyPair& authority, int node) {
    const bool coordinates = node == 0;
    CertificateRequest request{.common_name = name,
                               .uris = {agent_identity(job_.job_uid(), node)},
                               .for_server = coordinates,
                               .for_client = true};
    if (coordinates) request.dns_names = {"the-coordinator", "localhost"};
    const KeyPair agents = issue_certificate(authority, request).value();
    fs::create_directory(folder_.path() / name);
    std::ofstream(folder_.path() / name / "ca.crt") << authority.certificate_pem;
    std::ofstream(folder_.path() / name / "tls.crt") << agents.certificate_pem;
    std::ofstream(folder_.path() / name / "tls.key") << agents.key_pem;
  }

  // Whole at any time, since agents read it again while they run.
  void write_plan() const {
    std::ofstream(folder_.path() / "plan.json.new") << to_json(job_);
    fs::rename(folder_.path() / "plan.json.new", folder_.path() / "plan.json");
  }
  Process start_agent(int node, const std::string& tls, const std::vector<std::string>& more) {
    write_plan();
    SpawnOptions options{.program = test::program_folder() + "/caravan-agent"};
    options.arguments = {
        "--plan",       folder_.path() / "plan.json", "--node",           std::to_string(node),
        "--trainer",    testing::scripted_rank(),     "--work-directory", folder_.path() / "work",
        "--tls-folder", folder_.path() / tls,         "--in-pod",         "--heartbeat-milliseconds",
        "200"};
    options.arguments.insert(options.arguments.end(), more.begin(), more.end());
    options.environment = {{"CARAVAN_STEP_MILLISECONDS", "5"}};
    if (log_.get() >= 0) options.stderr_fd = log_.get();
    return Process::spawn(options).value();
  }
  Process start_node_zero(const std::string& tls = "tls-0", const std::string& port = ":0",
                          int first_attempt = 1) {
    return start_agent(0, tls,
                       {"--coordinator", "the-coordinator:7070", "--listen", "127.0.0.1" + port,
                        "--coordinator-address-file", address_file(), "--result-file", result_file(),
                        "--first-attempt", std::to_string(first_attempt)});
  }
  // Node 1, once node 0 listens.
  Process start_node_one(const std::string& tls, const std::vector<std::string>& more = {}) {
    await_file(address_file());
    std::vector<std::string> arguments{"--coordinator", "localhost" + port_of_node_zero()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return start_agent(1, tls, arguments);
  }
  static void await_file(const fs::path& path) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!fs::exists(path) && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  }
  std::string port_of_node_zero() const {
    const std::string address = text_of(address_file());
    return address.substr(address.rfind(':'), address.find('\n') - address.rfind(':'));
  }
  void keep_log() {
    log_ = UniqueFd(open(log_file().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  }
  std::string log_file() const { return folder_.path() / "log"; }
  std::string address_file() const { return folder_.path() / "address"; }
  std::string result_file() const { return folder_.path() / "result"; }

  test::TemporaryFolder folder_;
  v1alpha1::JobPlan job_;
  UniqueFd log_;  // of the agents, where a test reads it
  KeyPair authority_ = make_authority("job", std::chrono::hours(1)).value();
};

TEST_F(PodTest, AgentsThatShowTheJobsCertificateTrainAndLeaveTheResult) {
  keep_log();
  Process zero = start_node_zero();
  Process one = start_node_one("tls-1");
  EXPECT_EQ(zero.wait().exit_code, 0);
  EXPECT_EQ(one.wait().exit_code, 0);
  const auto result = from_json<v1alpha1::JobResult>(text_of(result_file()));
  ASSERT_TRUE(result) << text_of(result_file());
  EXPECT_EQ(result->result(), "Complete");
  EXPECT_GT(result->last_step().step(), 0);
  EXPECT_EQ(result->last_step().peak_bytes_per_rank_size(), 1) << "of the fullest rank";
  EXPECT_THAT(text_of(log_file()), Not(HasSubstr("has version"))) << "they are of one";
}

TEST_F(PodTest, EveryAttemptIsDrawnBesideTheCheckpoints) {
  job_.mutable_spec()->mutable_checkpoint()->set_path(folder_.path() / "volume/mine");
  for (const int attempt : {1, 2}) {
    Process zero = start_node_zero("tls-0", ":0", attempt);
    Process one = start_node_one("tls-1", {"--first-attempt", std::to_string(attempt)});
    EXPECT_EQ(zero.wait().exit_code, 0);
    EXPECT_EQ(one.wait().exit_code, 0);
    fs::remove(address_file());
  }
  std::vector<std::string> endings;
  for (const auto& entry : fs::directory_iterator(folder_.path() / "volume/mine/tensorboard")) {
    const std::string name = entry.path().filename();
    endings.push_back(name.substr(name.find(".attempt-")));
    EXPECT_GT(fs::file_size(entry), 20 * 100u) << "there are 20 steps";
  }
  EXPECT_THAT(endings, ::testing::UnorderedElementsAre(".attempt-1.uid-1", ".attempt-2.uid-1"));
}

TEST_F(PodTest, TheLogHasAsManyStepsAsTheJobSaysWhileItRuns) {
  job_ = testing::scripted_job(1, 1, 1'000'000);
  job_.mutable_spec()->set_log_every_seconds(3600);
  keep_log();
  Process zero = start_agent(
      0, "tls-0",
      {"--coordinator", "the-coordinator:7070", "--listen", "127.0.0.1:0", "--losses-judged-elsewhere"});
  const auto steps = [&] {
    const std::string text = text_of(log_file());
    int count = 0;
    for (auto at = text.find("  loss "); at != std::string::npos; at = text.find("  loss ", at + 1)) ++count;
    return count;
  };
  test::await([&] { return steps() > 0; });
  EXPECT_EQ(steps(), 1);
  job_.mutable_spec()->set_log_every_seconds(0);
  write_plan();
  test::await([&] { return steps() > 2; });
  kill(zero.pid(), SIGTERM);
  zero.wait();
}

TEST_F(PodTest, APodWhosePortForMetricsIsTakenTrainsWithoutThem) {
  const auto taken = listen_on("127.0.0.1", "0");
  ASSERT_TRUE(taken) << taken.error().message;
  const std::string address = fmt::format("127.0.0.1:{}", taken->port);
  job_ = testing::scripted_job(1, 1, 20);
  keep_log();
  Process zero = start_agent(
      0, "tls-0", {"--coordinator", "the-coordinator:7070", "--listen", "127.0.0.1:0", "--metrics", address});
  EXPECT_EQ(zero.wait().exit_code, 0);
  EXPECT_THAT(text_of(log_file()), HasSubstr("without metrics: cannot listen on " + address));
}

// The first does not trust the coordinator; the second does, and it is the coordinator that refuses. That the
// job's own agent is let in says that nothing else kept them out.
TEST_F(PodTest, AnAgentWithACertificateOfAnotherAuthorityIsNotLetInWhereOneOfTheJobsIs) {
  Process zero = start_node_zero();
  for (const char* tls : {"foreign", "trusting"}) {
    Process one = start_node_one(tls, {"--rejoin-timeout-seconds", "1"});
    EXPECT_EQ(one.wait().exit_code, static_cast<int>(ExitCode::kClusterUnreachable)) << tls;
  }
  Process one = start_node_one("tls-1");
  EXPECT_EQ(one.wait().exit_code, 0);
  EXPECT_EQ(zero.wait().exit_code, 0);
}

TEST_F(PodTest, AnAgentWithTheCertificateOfAnotherNodeIsNotLetIn) {
  Process zero = start_node_zero();
  Process other = start_node_one("tls-2", {"--rejoin-timeout-seconds", "1"});
  EXPECT_EQ(other.wait().exit_code, static_cast<int>(ExitCode::kClusterUnreachable));
  Process one = start_node_one("tls-1");
  EXPECT_EQ(zero.wait().exit_code, 0);
  EXPECT_EQ(one.wait().exit_code, 0);
}

TEST_F(PodTest, AnAgentWithTheCertificateOfAnotherNodeIsNotTakenForTheCoordinator) {
  const Process zero = start_node_zero("tls-2");
  Process one = start_node_one("tls-1", {"--rejoin-timeout-seconds", "1"});
  EXPECT_EQ(one.wait().exit_code, static_cast<int>(ExitCode::kClusterUnreachable));
}

// Help that nobody reads stands for all that an agent does before it begins.
TEST_F(PodTest, SignalsAreKeptFromTheStart) {
  const Pipe unread = full_pipe();
  const Process agent = Process::spawn({.program = test::program_folder() + "/caravan-agent",
                                        .arguments = {"--help"},
                                        .stdout_fd = unread.write_end.get()})
                            .value();
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!blocks(agent.pid(), SIGTERM) && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_TRUE(blocks(agent.pid(), SIGTERM));
}

TEST_F(PodTest, AJobWhoseLogNobodyReadsEnds) {
  Pipe unread = full_pipe();
  log_ = std::move(unread.write_end);
  job_ = testing::scripted_job(1, 1, 20);
  Process zero = start_node_zero();
  EXPECT_EQ(zero.wait().exit_code, 0);
}

TEST_F(PodTest, WhoeverReadsTheLogAgainWhenAnAgentEndsHearsWhatIsMissing) {
  Pipe unread = full_pipe();
  log_ = std::move(unread.write_end);
  job_ = testing::scripted_job(1, 1, 20);
  Process zero = start_node_zero();
  log_.reset();
  await_file(result_file());
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // then all has been said
  EXPECT_THAT(rest_of(unread.read_end), HasSubstr("lines are missing here"));
  EXPECT_EQ(zero.wait().exit_code, 0);
}

TEST_F(PodTest, ASignalEndsAnAgentWhoseLogNobodyReads) {
  Pipe unread = full_pipe();
  log_ = std::move(unread.write_end);
  job_ = testing::scripted_job(1, 1, 1'000'000);
  Process zero = start_node_zero();
  await_file(folder_.path() / "work/node-0/attempt-1");
  zero.signal_group(SIGTERM);
  EXPECT_EQ(zero.wait().exit_code, static_cast<int>(ExitCode::kLeft));
}

TEST_F(PodTest, ASignalEndsThePodOfNodeZeroAndNotTheJob) {
  job_ = testing::scripted_job(2, 2, 200);  // a second
  Process zero = start_node_zero();
  Process one = start_node_one("tls-1", {"--rejoin-timeout-seconds", "60"});
  await_file(folder_.path() / "work/node-1/attempt-1");
  zero.signal_group(SIGTERM);
  EXPECT_EQ(zero.wait().exit_code, static_cast<int>(ExitCode::kLeft));
  EXPECT_FALSE(fs::exists(result_file()));

  Process another = start_node_zero("tls-0", port_of_node_zero(), /*first_attempt=*/2);
  EXPECT_EQ(another.wait().exit_code, 0);
  EXPECT_EQ(one.wait().exit_code, 0);
  const auto result = from_json<v1alpha1::JobResult>(text_of(result_file()));
  ASSERT_TRUE(result) << text_of(result_file());
  EXPECT_EQ(result->result(), "Complete");
  EXPECT_EQ(result->last_step().attempt(), 2);
}

}  // namespace
}  // namespace caravan::agent
