// The job service's program beside an operator's server of steps and nodes, which tells what a test adds to
// its history and stores.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "operator/service/live_server.h"
#include "operator/service/pool_board.h"
#include "tests/service/service_program.h"

namespace caravan::service::testing {

class OperatedService : public ServiceProgram {
 protected:
  // Leads from now on, and knows nothing of what another one was told.
  void lead() {
    live_ = nullptr;
    history_ = std::make_unique<controller::StepHistory>();
    const auto identity =
        issue_certificate(authority_, {.common_name = "caravan-operator", .dns_names = {"localhost"}});
    auto server = controller::LiveServer::start({.listen = fmt::format("127.0.0.1:{}", port_),
                                                 .identity = *identity,
                                                 .authority_pem = authority_.certificate_pem},
                                                *history_, reads_nodes_ ? &pools_ : nullptr);
    ASSERT_TRUE(server.has_value()) << server.error().message;
    live_ = std::move(*server);
    port_ = live_->port();
  }

  void start_with_operator(std::vector<std::string> more = {}) {
    lead();
    const auto pair = issue_certificate(
        authority_, {.common_name = controller::kLiveCaller, .for_server = false, .for_client = true});
    folder_.write("live.crt", pair->certificate_pem);
    folder_.write("live.key", pair->key_pem);
    more.insert(more.end(), {"--operator", fmt::format("localhost:{}", port_), "--operator-ca",
                             folder_.path("ca.crt"), "--operator-certificate", folder_.path("live.crt"),
                             "--operator-key", folder_.path("live.key")});
    start(more);
  }

  int port_ = 0;
  bool reads_nodes_ = true;
  SystemClock clock_;
  kube::Store nodes_;
  controller::TakenRoom taken_;
  controller::PoolBoard pools_{nodes_, taken_, clock_, [] { return true; }};
  std::unique_ptr<controller::StepHistory> history_;
  std::unique_ptr<controller::LiveServer> live_;
};

}  // namespace caravan::service::testing
