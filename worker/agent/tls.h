// What an agent shows the others of its job (mutual TLS), and how a report's reader is known.
//
// Each node has a certificate of its own: agents know the coordinator by the name of node 0, which only that
// one has, and the coordinator knows them by proto/caravan/v1alpha1/identity.h. Files are read whole. Errors:
// exit code 2, naming the file.
#pragma once

#include <string>

#include "common/result.h"

namespace caravan::agent {

// PEM texts.
struct TlsIdentity {
  std::string authority;
  std::string certificate;
  std::string key;
};

// ca.crt, tls.crt and tls.key of a folder.
Result<TlsIdentity> read_identity(const std::string& folder);

}  // namespace caravan::agent
