#include "operator/live_service.h"

#include "operator/api/names.h"
#include "serving/log.h"

namespace caravan::controller {

Status LiveService::start(const KeyPair& authority) {
  // A leader never renews it.
  const auto identity = issue_certificate(authority, server_request(kOperator, {host_}, kAuthorityLifetime));
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
