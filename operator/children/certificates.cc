#include "operator/children/certificates.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/random_hex.h"
#include "operator/api/names.h"
#include "operator/children/job_objects.h"
#include "proto/caravan/v1alpha1/identity.h"

namespace caravan::controller {
namespace {

// As long as any chain of attempts: pods keep theirs, and new ones need the same set.
constexpr std::chrono::hours kLifetime = kAuthorityLifetime;

// A Secret may have 1 MiB, and each kubelet reads the whole that its pod mounts a part of.
constexpr int kNodesPerSecret = 64;

constexpr char kAuthorityKey[] = "ca.crt";
std::string certificate_key(int node) {
  return fmt::format("{}.crt", node);
}
std::string private_key_key(int node) {
  return fmt::format("{}.key", node);
}

std::string secret_name(const Job& job, const std::string& set, int index) {
  return fmt::format("{}-tls-{}-{}", job.key.name, set, index);
}

kube::JsonObject item(const std::string& key, const char* file) {
  return {{"key", key}, {"path", file}};
}

CertificateRequest request_of(const Job& job, int node) {
  // Not the authority's name: a certificate that bears its issuer's is taken for self-signed.
  CertificateRequest request{.common_name = fmt::format("caravan agent {}", node),
                             .uris = {agent_identity(job.uid, node)},
                             .for_server = node == 0,
                             .for_client = true,
                             .lifetime = kLifetime};
  if (node == 0) request.dns_names = {coordinator_host(job)};
  return request;
}

}  // namespace

Result<CertificateSet> new_certificate_set(const Job& job) {
  auto authority = make_authority(fmt::format("caravan job {}", job.uid), kLifetime);
  if (!authority) return tl::unexpected(std::move(authority.error()));
  return CertificateSet{.name = random_hex(32), .authority = std::move(*authority)};
}

int secrets_of(int nodes) {
  return (nodes + kNodesPerSecret - 1) / kNodesPerSecret;
}

int secret_of(int node) {
  return node / kNodesPerSecret;
}

kube::JsonObject certificate_volume(const Job& job, const std::string& set, int node) {
  constexpr int kReadable = 0444;  // within the pod, whose only user may not be in the volume's group
  return {{"secretName", secret_name(job, set, secret_of(node))},
          {"items", kube::JsonArray{item(kAuthorityKey, "ca.crt"), item(certificate_key(node), "tls.crt"),
                                    item(private_key_key(node), "tls.key")}},
          {"defaultMode", kReadable}};
}

kube::Json secret_outline(const Job& job, const std::string& set, int index) {
  return kube::JsonObject{{"apiVersion", "v1"},
                          {"kind", "Secret"},
                          {"metadata", child_metadata(job, secret_name(job, set, index))},
                          {"type", kCertificatesType},
                          {"immutable", true}};
}

Result<kube::Json> certificates_intent(const Job& job, const CertificateSet& set, int index, int nodes) {
  const auto issuer = Issuer::read(set.authority);
  if (!issuer) return tl::unexpected(issuer.error());
  kube::JsonObject files{{kAuthorityKey, set.authority.certificate_pem}};
  const int first = index * kNodesPerSecret;
  for (int node = first; node < std::min(first + kNodesPerSecret, nodes); ++node) {
    const auto issued = issuer->issue(request_of(job, node));
    if (!issued) return tl::unexpected(issued.error());
    files[certificate_key(node)] = issued->certificate_pem;
    files[private_key_key(node)] = issued->key_pem;
  }
  kube::Json secret = secret_outline(job, set.name, index);
  secret.as_object()["stringData"] = std::move(files);
  return secret;
}

}  // namespace caravan::controller
