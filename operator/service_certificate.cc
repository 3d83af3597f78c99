#include "operator/service_certificate.h"

#include <fmt/format.h>

#include "kube/api/object.h"
#include "kube/client/get_if_there.h"
#include "kube/config/base64.h"
#include "operator/api/names.h"
#include "operator/service/live_server.h"
#include "serving/log.h"

namespace caravan::controller {
namespace {

using namespace std::chrono_literals;
using kube::Json;
using kube::JsonObject;

constexpr auto kLook = 1min;
constexpr auto kLookAfterAFailure = 10s;

constexpr std::chrono::hours kAuthorityLeft{24 * 365};  // with less, there is another one
constexpr std::chrono::hours kLifetime{24 * 90};
constexpr std::chrono::hours kLeft{24 * 30};

struct ServiceIdentity {
  KeyPair authority;
  KeyPair server;  // for callers
  KeyPair client;  // of the operator
};

CertificateRequest request_for_client() {
  return {.common_name = kLiveCaller, .for_server = false, .for_client = true, .lifetime = kLifetime};
}

std::string file_in(const Json& secret, std::string_view name) {
  return kube::decode_base64(kube::text_at(secret, {"data", name}), name).value_or("");
}

ServiceIdentity identity_in(const Json& secret) {
  return {
      .authority = {.certificate_pem = file_in(secret, "ca.crt"), .key_pem = file_in(secret, "ca.key")},
      .server = {.certificate_pem = file_in(secret, "tls.crt"), .key_pem = file_in(secret, "tls.key")},
      .client = {.certificate_pem = file_in(secret, "client.crt"), .key_pem = file_in(secret, "client.key")}};
}

JsonObject files_of(const ServiceIdentity& identity) {
  return {{"ca.crt", kube::encode_base64(identity.authority.certificate_pem)},
          {"ca.key", kube::encode_base64(identity.authority.key_pem)},
          {"tls.crt", kube::encode_base64(identity.server.certificate_pem)},
          {"tls.key", kube::encode_base64(identity.server.key_pem)},
          {"client.crt", kube::encode_base64(identity.client.certificate_pem)},
          {"client.key", kube::encode_base64(identity.client.key_pem)}};
}

// Makes the pair anew unless it can be used for long; says why, or nothing.
Result<std::string> renew(KeyPair& pair, const KeyPair& authority, const CertificateRequest& request,
                          Clock::WallTime now) {
  const Status good = check_certificate(pair, authority, request, now + kLeft);
  if (good) return std::string();
  auto issued = issue_certificate(authority, request);
  if (!issued) return tl::unexpected(issued.error());
  pair = std::move(*issued);
  return good.error().message;
}

// The same of all. names: none: there is no certificate for callers.
Result<std::string> renew(ServiceIdentity& identity, const std::vector<std::string>& names,
                          Clock::WallTime now) {
  std::string why;
  if (const Status good = check_authority(identity.authority, now + kAuthorityLeft); !good) {
    auto authority = make_authority("caravan-service authority", kAuthorityLifetime);
    if (!authority) return tl::unexpected(authority.error());
    identity.authority = std::move(*authority);
    why = "of its authority: " + good.error().message;
  }
  auto client = renew(identity.client, identity.authority, request_for_client(), now);
  if (!client) return client;
  if (why.empty()) why = *client;
  if (names.empty()) return why;
  auto server =
      renew(identity.server, identity.authority, server_request(kLiveCaller, names, kLifetime), now);
  if (!server) return server;
  return why.empty() ? *server : why;
}

JsonObject empty_object(const char* kind, const char* name) {
  return {{"apiVersion", "v1"},
          {"kind", kind},
          {"metadata", JsonObject{{"name", name},
                                  {"labels", JsonObject{{labels::kName, "caravan-service"},
                                                        {"app.kubernetes.io/part-of", "caravan"}}}}}};
}

// Into the version that was read; where there was none, a new one.
Status write(kube::Client& client, const CallContext& context, const kube::ResourcePath& path,
             const Json& read_before, JsonObject object, JsonObject data) {
  object["data"] = std::move(data);
  const auto written = read_before.is_null() ? client.create(context, path, std::move(object))
                                             : client.replace(context, path, std::move(object));
  if (!written) return failure(written.error().message);
  return {};
}

}  // namespace

void ServiceCertificate::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const Status kept = keep({.stop = stop});
      if (!kept && !stop.stop_requested())
        log_line(spdlog::level::warn,
                 "the job service's certificate cannot be looked after: " + kept.error().message);
      clock_.sleep_until(clock_.now() + (kept ? kLook : kLookAfterAFailure), stop);
    }
  });
}

// The Secret first: a root that nothing is signed by helps nobody.
Status ServiceCertificate::keep(const CallContext& context) {
  const auto authority = keep_secret(context);
  if (!authority) return tl::unexpected(authority.error());
  if (!config_.names.empty()) {
    if (Status kept = keep_root(context, authority->certificate_pem); !kept) return kept;
  }
  if (authority->certificate_pem == told_authority_) return {};
  Status told = config_.on_authority(*authority);
  if (told) told_authority_ = authority->certificate_pem;
  return told;
}

Result<KeyPair> ServiceCertificate::keep_secret(const CallContext& context) {
  const auto secret = kube::get_if_there(client_, context, at(kSecrets), kServiceCertificate);
  if (!secret) return tl::unexpected(secret.error());
  if (!secret->is_null() && kube::text_at(*secret, {"type"}) != kCertificatesType)
    return failure(
        fmt::format("the Secret {}/{} is not of the type {}, so it is somebody else's; delete it, or give "
                    "it to the chart as service.certificate.secretName under another name",
                    config_.name_space, kServiceCertificate, kCertificatesType));
  ServiceIdentity identity = identity_in(*secret);
  const auto why = renew(identity, config_.names, clock_.wall_now());
  if (!why) return tl::unexpected(why.error());
  if (why->empty()) return identity.authority;
  JsonObject object = secret->is_null() ? empty_object("Secret", kServiceCertificate) : secret->as_object();
  object["type"] = kCertificatesType;
  const Status written =
      write(client_, context, at(kSecrets), *secret, std::move(object), files_of(identity));
  if (!written) return tl::unexpected(written.error());
  log_line(spdlog::level::info, "the job service has a new certificate", {{"reason", *why}});
  return identity.authority;
}

Status ServiceCertificate::keep_root(const CallContext& context, const std::string& authority_pem) {
  const auto root = kube::get_if_there(client_, context, at(kConfigMaps), kServiceRoot);
  if (!root) return tl::unexpected(root.error());
  if (kube::text_at(*root, {"data", kServiceRootKey}) == authority_pem) return {};
  JsonObject object = root->is_null() ? empty_object("ConfigMap", kServiceRoot) : root->as_object();
  return write(client_, context, at(kConfigMaps), *root, std::move(object),
               {{kServiceRootKey, authority_pem}});
}

}  // namespace caravan::controller
