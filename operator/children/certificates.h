// The Secrets with which the agents of one job know each other (mutual TLS).
//
// A set has an authority of its own and a certificate for each node, which names the job and the node; only
// that of node 0 may serve, under the coordinator's name. The authority's key never leaves this process and
// is lost with the set, so that nobody can add to it: a set is made as a whole, and one that was begun is
// never completed but followed by another. A pod mounts the entry of its own node alone, of a Secret that
// several share, since a job may have 16,384 nodes. Errors carry OpenSSL's reason.
#pragma once

#include <string>

#include "common/certificates.h"
#include "common/result.h"
#include "operator/api/job_object.h"

namespace caravan::controller {

struct CertificateSet {
  std::string name;  // random; in the names of its Secrets
  KeyPair authority;
};

Result<CertificateSet> new_certificate_set(const Job& job);
int secrets_of(int nodes);
// Where the pod of a node finds its own: ca.crt, tls.crt and tls.key.
kube::JsonObject certificate_volume(const Job& job, const std::string& set, int node);
// Of the Secret that such a pod mounts.
int secret_of(int node);
// That Secret without what it holds: as much as shows whether it is there.
kube::Json secret_outline(const Job& job, const std::string& set, int index);
// The Secret of this index, for a job of so many nodes.
Result<kube::Json> certificates_intent(const Job& job, const CertificateSet& set, int index, int nodes);

}  // namespace caravan::controller
