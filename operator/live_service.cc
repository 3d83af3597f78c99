#include "operator/live_service.h"

#include "serving/log.h"

namespace caravan::controller {
namespace {

constexpr std::chrono::hours kLifetime{24 * 365 * 10};  // that of an authority; a leader never renews it

}  // namespace

Status LiveService::start(const KeyPair& authority) {
  const auto identity = issue_certificate(authority, server_request("caravan-operator", {host_}, kLifetime));
  if (!identity) return tl::unexpected(identity.error());
  const std::scoped_lock lock(mutex_);
  server_ = nullptr;  // the address can be taken once
  auto server = LiveServer::start(
      {.listen = listen_, .identity = *identity, .authority_pem = authority.certificate_pem}, history_,
      pools_);
  if (!server) return tl::unexpected(server.error());
  server_ = std::move(*server);
  log_line(spdlog::level::info, "live metrics are told", {{"port", std::to_string(server_->port())}});
  return {};
}

void LiveService::stop() {
  const std::scoped_lock lock(mutex_);
  server_ = nullptr;
}

}  // namespace caravan::controller
