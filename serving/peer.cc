#include "serving/peer.h"

#include <algorithm>

#include "common/host_port.h"

namespace caravan {
namespace {

constexpr std::string_view kBearer = "bearer ";  // in whatever case (RFC 7235)

bool begins_with_bearer(std::string_view text) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return text.size() >= kBearer.size() && std::equal(kBearer.begin(), kBearer.end(), text.begin(),
                                                     [&](char wanted, char c) { return wanted == lower(c); });
}

// As RFC 6750 has it. The API server reads a token up to its first space: without this, each token would have
// any number of spellings, all of them good.
bool is_token(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-._~+/=").find(c) != std::string_view::npos;
  });
}

// Without the brackets around it, which may be escaped.
std::string_view bare(std::string_view host) {
  for (const std::string_view open : {"%5B", "["}) {
    if (host.starts_with(open)) host.remove_prefix(open.size());
  }
  for (const std::string_view close : {"%5D", "]"}) {
    if (host.ends_with(close)) host.remove_suffix(close.size());
  }
  return host;
}

}  // namespace

std::string bearer_in(std::string_view authorization) {
  if (!begins_with_bearer(authorization)) return "";
  const std::string_view token = authorization.substr(kBearer.size());
  return is_token(token) ? std::string(token) : "";
}

std::string host_of_peer(std::string_view peer) {
  for (const std::string_view family : {"ipv4:", "ipv6:"}) {
    if (peer.starts_with(family)) peer.remove_prefix(family.size());
  }
  const std::string host = host_of(peer);
  return std::string(bare(host));
}

}  // namespace caravan
