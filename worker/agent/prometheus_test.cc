// A real Prometheus scrapes a real agent.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <regex>

#include "common/json.h"
#include "common/listen.h"
#include "common/process.h"
#include "common/testing/checkout.h"
#include "common/testing/temporary_folder.h"
#include "worker/agent/testing/scripted_job.h"

namespace caravan::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kPatience{60};

// The answer of an HTTP server on this machine; empty when it does not answer.
std::string get(const std::string& port, const std::string& target) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo("127.0.0.1", port.c_str(), &hints, &found) != 0) return "";
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> address(found, freeaddrinfo);
  const UniqueFd fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(fd.get(), found->ai_addr, found->ai_addrlen) != 0) return "";
  const std::string request = fmt::format("GET {} HTTP/1.0\r\nHost: localhost\r\n\r\n", target);
  if (send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return "";
  std::string answer;
  char buffer[4096];
  for (ssize_t count = 0; (count = recv(fd.get(), buffer, sizeof buffer, 0)) > 0;)
    answer.append(buffer, static_cast<size_t>(count));
  return answer;
}

// A port that was free a moment ago.
std::string free_port() {
  const auto socket = listen_on("127.0.0.1", "0");
  return std::to_string(socket->port);
}

class PrometheusTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("prometheus --version > /dev/null 2>&1") != 0)
      GTEST_SKIP() << "prometheus is not installed";
  }

  Process start_agent() {
    std::ofstream(folder_.path() / "plan.json") << to_json(testing::scripted_job(1, 2, 20));
    SpawnOptions options{.program = test::program_folder() + "/caravan-agent"};
    options.arguments = {"--plan",           folder_.path() / "plan.json",
                         "--node",           "0",
                         "--listen",         "127.0.0.1:0",
                         "--trainer",        testing::scripted_rank(),
                         "--work-directory", folder_.path(),
                         "--metrics",        "127.0.0.1:" + metrics_port_};
    options.environment = {{"CARAVAN_SCRIPT", "step=10 hang"}};
    return std::move(*Process::spawn(options));
  }
  Process start_prometheus() {
    std::ofstream(folder_.path() / "prometheus.yml") << fmt::format(
        "global: {{scrape_interval: 1s}}\n"
        "scrape_configs:\n"
        "- job_name: caravan\n"
        "  honor_labels: true\n"
        "  static_configs: [{{targets: ['127.0.0.1:{}']}}]\n",
        metrics_port_);
    SpawnOptions options{.program = "/usr/bin/env"};
    options.arguments = {"prometheus", "--config.file=" + (folder_.path() / "prometheus.yml").string(),
                         "--storage.tsdb.path=" + (folder_.path() / "data").string(),
                         "--web.listen-address=127.0.0.1:" + prometheus_port_, "--log.level=error"};
    return std::move(*Process::spawn(options));
  }
  // Asks until the answer has what is wanted, and returns the last answer.
  std::string query(const std::string& expression, const std::string& wanted) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    std::string answer;
    while (answer.find(wanted) == std::string::npos && std::chrono::steady_clock::now() < deadline) {
      answer = get(prometheus_port_, "/api/v1/query?query=" + expression);
      poll(nullptr, 0, 50);
    }
    return answer;
  }

  test::TemporaryFolder folder_;
  const std::string metrics_port_ = free_port();
  const std::string prometheus_port_ = free_port();
};

TEST_F(PrometheusTest, ScrapesWhatTheRanksReport) {
  const Process agent = start_agent();
  const Process prometheus = start_prometheus();
  // Ten steps of 64 tokens, half of them for each of two ranks.
  EXPECT_THAT(query("sum(caravan_tokens_total)", "\"640\""), HasSubstr("\"640\""));
  EXPECT_THAT(
      query("caravan_steps_total", "\"10\""),
      AllOf(HasSubstr("\"job\":\"scripted\""), HasSubstr("\"rank\":\"0\""), HasSubstr("\"rank\":\"1\"")));
  EXPECT_THAT(query("up", "\"1\""), HasSubstr("\"1\""));
}

TEST_F(PrometheusTest, HealthAndMetricsHaveTheirPaths) {
  const Process agent = start_agent();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::string health;
  while (health.empty() && std::chrono::steady_clock::now() < deadline)
    health = get(metrics_port_, "/healthz");
  EXPECT_THAT(health, AllOf(HasSubstr("200 OK"), HasSubstr("\r\n\r\nok\n")));
  EXPECT_THAT(get(metrics_port_, "/metrics"), HasSubstr("# TYPE caravan_tokens_total counter"));
  EXPECT_THAT(get(metrics_port_, "/"), HasSubstr("404"));
}

}  // namespace
}  // namespace caravan::agent
