#include "cli/page/page_address.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <climits>

#include "common/host_port.h"
#include "common/lower_case.h"

namespace caravan::cli {
namespace {

constexpr std::size_t kTokenBytes = 16;

std::string name_of_machine() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  return lower_case(name.data());
}

bool is_port(const std::string& text) {
  return !text.empty() && text.size() <= 5 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c); }) &&
         std::stoi(text) <= 65535;
}

}  // namespace

Result<PageAddress> parse_page_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon == std::string::npos ? 0 : colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.empty() || !is_port(text.substr(colon + 1)))
    return bad_input(fmt::format("--page: expected HOST:PORT, such as 127.0.0.1:8080, got '{}'", text));
  host = lower_case(host);
  const std::string machine = name_of_machine();
  const bool is_any = host == "::" || host == "0.0.0.0";
  PageAddress address{
      .listen = text, .host = is_any && !machine.empty() ? machine : host, .is_loopback = is_loopback(host)};
  for (const std::string& name : {host, machine}) {
    if (!name.empty()) address.names.push_back(name);
  }
  if (address.host.find(':') != std::string::npos) address.host = fmt::format("[{}]", address.host);
  return address;
}

std::string url_of(const PageAddress& address, const std::string& listening, const std::string& token) {
  return fmt::format("http://{}:{}/#token={}", address.host, listening.substr(listening.rfind(':') + 1),
                     token);
}

Result<std::string> random_token() {
  std::array<unsigned char, kTokenBytes> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return failure("--page: the system gives no random numbers");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

}  // namespace caravan::cli
