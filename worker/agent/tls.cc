#include "worker/agent/tls.h"

#include <utility>

#include "common/file_contents.h"

namespace caravan::agent {

Result<TlsIdentity> read_identity(const std::string& folder) {
  TlsIdentity identity;
  const std::pair<const char*, std::string*> files[] = {
      {"ca.crt", &identity.authority}, {"tls.crt", &identity.certificate}, {"tls.key", &identity.key}};
  for (const auto& [name, text] : files) {
    auto read = file_contents(folder + "/" + name);
    if (!read) return bad_input("--tls-folder: " + read.error().message);
    *text = std::move(*read);
  }
  return identity;
}

}  // namespace caravan::agent
