// A client of a scripted server, on a clock that the test moves.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/testing/await.h"
#include "common/testing/manual_clock.h"
#include "kube/client/client.h"
#include "kube/config/config_credentials.h"
#include "kube/transport/pooled_transport.h"
#include "tests/kube/fault_server.h"

namespace caravan::kube::testing {

// Keeps what it is told.
class Recorder final : public Observer {
 public:
  void on_request(std::string_view, int code) override { unanswered += code == 0 ? 1 : 0; }
  void on_clocks_compared(std::chrono::seconds ahead) override {
    const std::lock_guard guard(mutex_);
    clock_ahead_ = ahead;
  }
  void on_relist(std::string_view) override { ++relists; }
  void on_watch_opened(std::string_view) override { ++watches; }
  void on_warning(const std::string& message) override {
    const std::lock_guard guard(mutex_);
    warnings_.push_back(message);
  }
  void on_retry(const ApiError& error, std::chrono::milliseconds) override {
    const std::lock_guard guard(mutex_);
    retries_.push_back(error.flow_schema);
  }
  // As the last answer with a Date told.
  std::optional<std::chrono::seconds> clock_ahead() const {
    const std::lock_guard guard(mutex_);
    return clock_ahead_;
  }
  // The flow schemas of the calls that were tried again.
  std::vector<std::string> retries() const {
    const std::lock_guard guard(mutex_);
    return retries_;
  }
  std::vector<std::string> warnings() const {
    const std::lock_guard guard(mutex_);
    return warnings_;
  }

  std::atomic<int> unanswered{0};  // tries of calls
  std::atomic<int> relists{0};
  std::atomic<int> watches{0};

 private:
  mutable std::mutex mutex_;
  std::optional<std::chrono::seconds> clock_ahead_;
  std::vector<std::string> warnings_;
  std::vector<std::string> retries_;
};

using ::caravan::test::await;

class ScriptedClientTest : public ::testing::Test {
 protected:
  static constexpr double kRandom = 0.5;

  void serve(Script script, const FaultServer::Options& options = {}) {
    server_ = std::make_unique<FaultServer>(std::move(script), options);
    connect({});
  }

  // As `config` says, with the server and its authority filled in.
  void connect(ClientConfig config, ClientOptions options = {}, const PoolLimits& limits = {}) {
    config.server = {.host = "127.0.0.1", .port = std::to_string(server_->port())};
    if (config.authority.empty()) config.authority.text = server_->authority().certificate_pem;
    client_.reset();
    transport_.reset();
    credentials_ = std::make_unique<ConfigCredentials>(config, clock_);
    transport_ = std::make_unique<PooledTransport>(peer_of(config), *credentials_, clock_, limits);
    config_ = std::move(config);
    client_ = std::make_unique<Client>(
        *transport_, *credentials_, clock_, [] { return kRandom; }, std::move(options), recorder_);
  }

  int requests(const std::string& method, const std::string& query_part = "") const {
    int count = 0;
    for (const Received& request : server_->requests()) {
      count += request.method == method && request.query.find(query_part) != std::string::npos;
    }
    return count;
  }

  caravan::testing::ManualClock clock_;
  Recorder recorder_;
  std::unique_ptr<FaultServer> server_;
  ClientConfig config_;
  std::unique_ptr<ConfigCredentials> credentials_;
  std::unique_ptr<PooledTransport> transport_;
  std::unique_ptr<Client> client_;
  ResourcePath pods_{.resource = kPods, .name_space = "s"};
};

}  // namespace caravan::kube::testing
