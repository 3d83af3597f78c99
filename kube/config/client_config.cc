#include "kube/config/client_config.h"

#include <fmt/format.h>

namespace caravan::kube {

Result<Url> parse_url(const std::string& text, std::string_view form) {
  if (text.find('@') != std::string::npos)
    return bad_input(fmt::format("user and password in a URL are not supported: write {}", form));
  const std::size_t scheme_end = text.find("://");
  if (scheme_end == std::string::npos) return bad_input(fmt::format("'{}' is no URL: write {}", text, form));
  Url url{.scheme = text.substr(0, scheme_end), .endpoint = {}, .path = {}};
  const std::size_t authority = scheme_end + 3;
  const std::size_t path = std::min(text.find('/', authority), text.size());
  std::string host = text.substr(authority, path - authority);
  url.path = text.substr(path);
  while (!url.path.empty() && url.path.back() == '/') url.path.pop_back();

  const std::size_t bracket = host.find(']');
  const std::size_t colon = host.find(':', bracket == std::string::npos ? 0 : bracket);
  url.endpoint.port = colon == std::string::npos ? "" : host.substr(colon + 1);
  if (url.endpoint.port.empty()) url.endpoint.port = url.scheme == "http" ? "80" : "443";
  host.resize(std::min(colon, host.size()));
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host.empty()) return bad_input(fmt::format("'{}' has no host: write {}", text, form));
  if (url.endpoint.port.find_first_not_of("0123456789") != std::string::npos) {
    return bad_input(fmt::format("'{}' has no valid port: '{}'", text, url.endpoint.port));
  }
  url.endpoint.host = host;
  return url;
}

std::string to_string(const Endpoint& endpoint) {
  const bool is_ipv6 = endpoint.host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", endpoint.host, endpoint.port)
                 : fmt::format("{}:{}", endpoint.host, endpoint.port);
}

}  // namespace caravan::kube
