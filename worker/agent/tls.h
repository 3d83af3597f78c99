// What the agents of one job show each other (mutual TLS), and how a report's reader is known.
//
// Files are read whole. Errors: exit code 2, naming the file.
#pragma once

#include <string>

#include "common/result.h"

namespace caravan::agent {

Result<std::string> read_text(const std::string& path);

// PEM texts.
struct TlsIdentity {
  std::string authority;
  std::string certificate;
  std::string key;
};

// ca.crt, tls.crt and tls.key of a folder, as a Secret of type kubernetes.io/tls holds them.
Result<TlsIdentity> read_identity(const std::string& folder);

}  // namespace caravan::agent
