#include "worker/agent/tls.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace caravan::agent {

Result<std::string> read_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file) return bad_input(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  return text.str();
}

Result<TlsIdentity> read_identity(const std::string& folder) {
  TlsIdentity identity;
  const std::pair<const char*, std::string*> files[] = {
      {"ca.crt", &identity.authority}, {"tls.crt", &identity.certificate}, {"tls.key", &identity.key}};
  for (const auto& [name, text] : files) {
    auto read = read_text(folder + "/" + name);
    if (!read) return bad_input("--tls-folder: " + read.error().message);
    *text = std::move(*read);
  }
  return identity;
}

}  // namespace caravan::agent
