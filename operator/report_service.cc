#include "operator/report_service.h"

#include "common/host_port.h"
#include "operator/api/names.h"
#include "serving/log.h"

namespace caravan::controller {
namespace {

struct Identity {
  KeyPair authority;
  KeyPair server;
};

Result<Identity> make_identity(const std::string& address) {
  const std::string host = host_of(address);  // a leader never renews its certificates
  auto authority = make_authority("caravan-operator authority", kAuthorityLifetime);
  if (!authority) return tl::unexpected(authority.error());
  auto server = issue_certificate(*authority, server_request(kOperator, {host}, kAuthorityLifetime));
  if (!server) return tl::unexpected(server.error());
  return Identity{.authority = std::move(*authority), .server = std::move(*server)};
}

}  // namespace

Result<std::string> ReportService::start(const std::string& listen, const std::string& address) {
  const auto identity = make_identity(address);
  if (!identity) return tl::unexpected(identity.error());
  auto server = ClusterReportServer::start(
      {.listen = listen,
       .identity = identity->server,
       .authenticate = [this](const CallContext& context,
                              const std::string& token) { return tokens_.check(context, token); }},
      clock_, board_, observer_);
  if (!server) return tl::unexpected(server.error());
  log_line(spdlog::level::info, "reports are taken", {{"port", std::to_string((*server)->port())}});
  const std::scoped_lock lock(mutex_);
  server_ = std::move(*server);
  return identity->authority.certificate_pem;
}

// Nobody waits for the streams' end while holding the mutex that a probe needs.
void ReportService::stop() {
  const auto ending = [this] {
    const std::scoped_lock lock(mutex_);
    return std::move(server_);
  }();
}

Clock::Duration ReportService::longest_review() const {
  const std::scoped_lock lock(mutex_);
  return server_ ? server_->longest_review() : Clock::Duration::zero();
}

}  // namespace caravan::controller
