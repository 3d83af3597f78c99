// What the operator's program says of itself while its API server says nothing and others crowd its ports.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>

#include <csignal>
#include <fstream>

#include "common/listen.h"
#include "common/process.h"
#include "common/testing/checkout.h"
#include "common/testing/temporary_folder.h"
#include "http/testing/client.h"
#include "kube/api/json.h"

namespace caravan::controller::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class OperatorProbes : public ::testing::Test {
 protected:
  OperatorProbes() {
    const std::string server = std::to_string(silent_.port);
    const std::string config = folder_.write(
        "kubeconfig",
        R"({"current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],)"
        R"("clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:)" +
            server + R"("}}],"users":[{"name":"u","user":{"token":"t"}}]})");
    const UniqueFd log(open(folder_.path("log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    program_.emplace(Process::spawn({.program = test::program_folder() + "/caravan-operator",
                                     .arguments = {"--kubeconfig", config, "--worker-image", "worker:test",
                                                   "--probes", "[::]:0", "--metrics", "[::]:0"},
                                     .stderr_fd = log.get()})
                         .value());
    const kube::Json served = await_log("probes and metrics are served");
    probes_ = kube::text_at(served, {"probes"});
    metrics_ = kube::text_at(served, {"metrics"});
  }

  // The test's own time limit is the end of waiting.
  kube::Json await_log(const std::string& message) {
    while (!program_->try_wait()) {
      std::ifstream log(folder_.path("log"));
      for (std::string line; std::getline(log, line);) {
        kube::Json entry = kube::parse_json(line, "log").value_or(kube::Json());
        if (kube::text_at(entry, {"message"}) == message) return entry;
      }
      poll(nullptr, 0, 10);
    }
    std::ifstream log(folder_.path("log"));
    ADD_FAILURE() << "the operator ended: " << log.rdbuf();
    return {};
  }

  static std::string get(const std::string& address, const std::string& path) {
    return http::testing::ask(address, "GET " + path + " HTTP/1.1\r\nConnection: close\r\n\r\n");
  }

  test::TemporaryFolder folder_;
  const ListeningSocket silent_ = listen_on("127.0.0.1", "0").value();  // takes connections and says nothing
  std::optional<Process> program_;
  std::string probes_;
  std::string metrics_;
};

TEST_F(OperatorProbes, AnApiServerThatSaysNothingLeavesItAliveAndNotReady) {
  EXPECT_THAT(get(probes_, "/healthz"), AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), EndsWith("\r\n\r\nok\n")));
  EXPECT_THAT(get(probes_, "/readyz"), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("caches")));
  EXPECT_THAT(get(metrics_, "/metrics"), HasSubstr("\nleader_election_master_status"));
}

TEST_F(OperatorProbes, EachPortServesItsOwnPaths) {
  EXPECT_THAT(get(probes_, "/metrics"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(get(metrics_, "/healthz"), StartsWith("HTTP/1.1 404 "));
}

TEST_F(OperatorProbes, IdleConnectionsToEveryPortHoldUpNeitherProbesNorMetrics) {
  std::vector<http::testing::Client> idle(400);
  for (std::size_t i = 0; i < idle.size(); ++i) idle[i].connect(i % 2 == 0 ? probes_ : metrics_);
  EXPECT_THAT(get(probes_, "/healthz"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(get(metrics_, "/metrics"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

}  // namespace
}  // namespace caravan::controller::testing
