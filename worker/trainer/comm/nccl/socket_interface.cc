#include "worker/trainer/comm/nccl/socket_interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cstdlib>
#include <memory>
#include <string_view>

namespace caravan::trainer {
namespace {

struct InterfacesEnd {
  void operator()(ifaddrs* interfaces) const { freeifaddrs(interfaces); }
};

std::unique_ptr<ifaddrs, InterfacesEnd> interfaces_here() {
  ifaddrs* interfaces = nullptr;
  const bool are_told = getifaddrs(&interfaces) == 0;
  return std::unique_ptr<ifaddrs, InterfacesEnd>(are_told ? interfaces : nullptr);
}

// An interface may have no address.
bool is_same(const sockaddr* address, const std::string& text) {
  if (address == nullptr) return false;
  if (address->sa_family == AF_INET) {
    in_addr wanted{};
    return inet_pton(AF_INET, text.c_str(), &wanted) == 1 &&
           wanted.s_addr == reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr;
  }
  in6_addr wanted{};
  return address->sa_family == AF_INET6 && inet_pton(AF_INET6, text.c_str(), &wanted) == 1 &&
         IN6_ARE_ADDR_EQUAL(&wanted, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

// NCCL takes the first address of an interface; the loopback's leads to no other machine.
bool is_by(const ifaddrs& interface, const std::string& address) {
  if (!is_same(interface.ifa_addr, address)) return false;
  const bool is_loopback = (interface.ifa_flags & IFF_LOOPBACK) != 0;
  return !is_loopback || address.starts_with("127.") || address == "::1";
}

// Of an address, as eth0:1, in the place of its interface's name; NCCL reads NAME:PORT.
bool is_label(std::string_view name) {
  return name.find(':') != std::string_view::npos;
}

}  // namespace

std::optional<std::string> interface_of(const std::string& name_or_address, const ifaddrs* interfaces) {
  for (const ifaddrs* each = interfaces; each != nullptr; each = each->ifa_next) {
    const bool is_meant = each->ifa_name == name_or_address || is_by(*each, name_or_address);
    if (is_meant && !is_label(each->ifa_name)) return each->ifa_name;
  }
  return std::nullopt;
}

void choose_interface_for_nccl(const std::string& name_or_address) {
  const auto name = interface_of(name_or_address, interfaces_here().get());
  // "=": that name, not all that begin with it.
  if (name) setenv("NCCL_SOCKET_IFNAME", ("=" + *name).c_str(), /*overwrite=*/0);
}

}  // namespace caravan::trainer
