#include "cli/page/door.h"

#include <arpa/inet.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <array>

#include "common/lower_case.h"

namespace caravan::cli {
namespace {

using service::Answer;
using service::Code;
using service::fault;
namespace faults = service::faults;

// Of HOST, HOST:PORT or [HOST]:PORT.
std::string host_in(std::string_view host_port) {
  if (host_port.starts_with('[')) return std::string(host_port.substr(1, host_port.find(']') - 1));
  return lower_case(host_port.substr(0, host_port.find(':')));
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> ignored{};
  return inet_pton(AF_INET, host.c_str(), ignored.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), ignored.data()) == 1;
}

}  // namespace

Answer<void> check_origin(const Door& door, const http::Request& request) {
  const std::string_view told = request.field("host");
  const std::string host = host_in(told);
  const bool is_ours =
      host == "localhost" || is_address(host) || std::ranges::find(door.names, host) != door.names.end();
  if (!is_ours)
    return fault(Code::kPermissionDenied, faults::kForbidden,
                 "open this page by its address, or as localhost: another name may lead here by mistake");
  const std::string_view origin = request.field("origin");
  if (origin.empty() || lower_case(origin) == "http://" + lower_case(told)) return {};
  return fault(Code::kPermissionDenied, faults::kForbidden, "pages of another origin are not answered");
}

Answer<void> check_token(const Door& door, const http::Request& request) {
  const std::string wanted = "Bearer " + door.token;
  const std::string_view shown = request.field("authorization");
  if (shown.size() == wanted.size() && CRYPTO_memcmp(shown.data(), wanted.data(), wanted.size()) == 0)
    return {};
  return fault(Code::kUnauthenticated, shown.empty() ? faults::kNoCredentials : faults::kBadToken,
               "open this page by the whole address that caravan run printed, which ends in its token");
}

}  // namespace caravan::cli
