#include "common/host_port.h"

#include <arpa/inet.h>

#include <charconv>

#include "common/lower_case.h"

namespace caravan {

bool is_host_port(std::string_view address) {
  const auto colon = address.rfind(':');
  const bool is_url = address.find('/') != std::string_view::npos;
  if (is_url || colon == 0 || colon == std::string_view::npos) return false;
  const std::string_view port = address.substr(colon + 1);
  const bool digits = !port.empty() && port.find_first_not_of("0123456789") == std::string_view::npos;
  int number = 0;
  const auto read = std::from_chars(port.data(), port.data() + port.size(), number);
  return digits && port.size() <= 5 && read.ec == std::errc() && number <= 65535;
}

std::string host_of(std::string_view address) {
  return std::string(address.substr(0, address.rfind(':')));
}

std::string port_of(std::string_view address) {
  return std::string(address.substr(address.rfind(':') + 1));
}

bool is_ip_address(const std::string& host) {
  in6_addr parsed{};
  return inet_pton(AF_INET, host.c_str(), &parsed) == 1 || inet_pton(AF_INET6, host.c_str(), &parsed) == 1;
}

bool is_loopback(const std::string& host) {
  in_addr address{};
  if (inet_pton(AF_INET, host.c_str(), &address) == 1) return (ntohl(address.s_addr) >> 24) == 127;
  return lower_case(host) == "localhost" || host == "::1" || host == "[::1]";
}

}  // namespace caravan
