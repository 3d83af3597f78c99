#include "operator/children/certificates.h"

#include <fmt/format.h>

#include "common/certificates.h"
#include "operator/children/job_objects.h"

namespace caravan::controller {
namespace {

// Jobs may be suspended for long, and nothing renews it.
constexpr std::chrono::hours kLifetime{24 * 365 * 10};

}  // namespace

Result<kube::Json> certificates_intent(const Job& job) {
  // Two names: a certificate that bears its issuer's is taken for self-signed.
  const auto authority = make_authority(fmt::format("caravan job {}", job.uid), kLifetime);
  if (!authority) return tl::unexpected(authority.error());
  const auto agents = issue_certificate(
      *authority,
      {.common_name = fmt::format("caravan agents {}", job.uid),
       .dns_names = {coordinator_host(job), fmt::format("*.{}.{}.svc", job.key.name, job.key.name_space)},
       .for_server = true,
       .for_client = true,
       .lifetime = kLifetime});
  if (!agents) return tl::unexpected(agents.error());
  return kube::JsonObject{{"apiVersion", "v1"},
                          {"kind", "Secret"},
                          {"metadata", child_metadata(job, certificates_name(job))},
                          {"type", "kubernetes.io/tls"},
                          {"immutable", true},
                          {"stringData", kube::JsonObject{{"ca.crt", authority->certificate_pem},
                                                          {"tls.crt", agents->certificate_pem},
                                                          {"tls.key", agents->key_pem}}}};
}

}  // namespace caravan::controller
