#include "operator/leader_services.h"

#include "common/host_port.h"
#include "operator/api/names.h"
#include "serving/log.h"

namespace caravan::controller {

LeaderServices::LeaderServices(kube::Client& client, Clock& clock, Metrics& metrics, JobWatch& jobs,
                               Config config)
    : config_(std::move(config)),
      history_(jobs.history()),
      tokens_(client, clock, jobs.stores().pods),
      pools_(jobs.stores().nodes, jobs.stores().taken, clock, [&jobs] { return jobs.caches().synced(); }),
      certificate_(client, clock,
                   {.name_space = config_.name_space,
                    .names = config_.service_names,
                    .on_authority =
                        [this](const KeyPair& authority) {
                          return config_.live_listen.empty() ? Status() : start_live(authority);
                        }}),
      witness_(clock, metrics),
      reports_(clock, jobs.board(), tokens_, witness_) {}

Result<std::string> LeaderServices::start() {
  std::string reports_authority;
  if (!config_.reports_address.empty()) {
    auto authority = reports_.start(config_.reports_listen, config_.reports_address);
    if (!authority) return authority;
    reports_authority = *std::move(authority);
  }
  if (!config_.service_names.empty() || !config_.live_listen.empty()) certificate_.start();
  return reports_authority;
}

Status LeaderServices::start_live(const KeyPair& authority) {
  // A leader never renews it.
  const auto identity = issue_certificate(
      authority, server_request(kOperator, {host_of(config_.reports_address)}, kAuthorityLifetime));
  if (!identity) return tl::unexpected(identity.error());
  live_ = nullptr;  // the address can be taken once
  auto server = LiveServer::start(
      {.listen = config_.live_listen, .identity = *identity, .authority_pem = authority.certificate_pem},
      history_, config_.read_nodes ? &pools_ : nullptr);
  if (!server) return tl::unexpected(server.error());
  live_ = std::move(*server);
  log_line(spdlog::level::info, "live metrics are told", {{"port", std::to_string(live_->port())}});
  return {};
}

void LeaderServices::stop_live() {
  certificate_.stop();
  live_ = nullptr;
}

void LeaderServices::stop_reports() {
  reports_.stop();
}

}  // namespace caravan::controller
