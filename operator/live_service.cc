#include "operator/live_service.h"

#include "common/host_port.h"
#include "serving/log.h"

namespace caravan::controller {
namespace {

constexpr std::chrono::hours kLifetime{24 * 365 * 10};  // that of an authority; a leader never renews it

CertificateRequest request_for(const std::string& host) {
  CertificateRequest request{.common_name = "caravan-operator", .lifetime = kLifetime};
  (is_ip_address(host) ? request.addresses : request.dns_names).push_back(host);
  return request;
}

}  // namespace

Status LiveService::start(const KeyPair& authority) {
  const auto identity = issue_certificate(authority, request_for(host_));
  if (!identity) return tl::unexpected(identity.error());
  const std::scoped_lock lock(mutex_);
  server_ = nullptr;  // the address can be taken once
  auto server = LiveServer::start(
      {.listen = listen_, .identity = *identity, .authority_pem = authority.certificate_pem}, history_);
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
