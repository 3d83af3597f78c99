// The job service's certificates and who signed them, kept by the operator that leads in a Secret and a
// ConfigMap of its own namespace: the one that callers see, and the one with which it comes to the operator.
// The service itself may read neither object: its pods mount certificates and keys.
//
// The Secret also has the authority with its key, so that every leader signs with the same one and callers
// keep what they trust; the ConfigMap has the authority's certificate, which callers may read. Looked at
// every minute: what is missing, spoilt, for other names or near its end is made anew, an authority that is
// still good stays. A Secret of another type is somebody else's, and left alone. Failures are logged and
// tried again. The client must write with the lease only.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "common/certificates.h"
#include "common/clock.h"
#include "kube/client/client.h"

namespace caravan::controller {

// In the Secret: tls.crt and tls.key for callers, client.crt and client.key for the operator, ca.crt, ca.key.
// The ConfigMap that callers read stands in operator/api/names.h.
inline constexpr char kServiceCertificate[] = "caravan-service-certificate";

class ServiceCertificate {
 public:
  struct Config {
    std::string name_space;
    // DNS names and IP addresses under which it is called; none: what callers see is somebody else's matter.
    std::vector<std::string> names;
    // Told, with its key, when it is known and whenever it is another one. A failure is tried again.
    std::function<Status(const KeyPair& authority)> on_authority = [](const KeyPair&) { return Status(); };
  };

  ServiceCertificate(kube::Client& client, Clock& clock, Config config)
      : client_(client), clock_(clock), config_(std::move(config)) {}

  // Looks from now on, on a thread of its own.
  void start();
  void stop() { thread_ = {}; }
  // One look.
  Status keep(const CallContext& context);

 private:
  kube::ResourcePath at(const kube::Resource& resource) const { return {resource, config_.name_space}; }
  // The authority, which is in the Secret by now.
  Result<KeyPair> keep_secret(const CallContext& context);
  Status keep_root(const CallContext& context, const std::string& authority_pem);

  kube::Client& client_;
  Clock& clock_;
  const Config config_;
  std::string told_authority_;  // PEM
  std::jthread thread_;
};

}  // namespace caravan::controller
