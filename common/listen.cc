#include "common/listen.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace caravan {
namespace {

int port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  const bool is_v6 = address.ss_family == AF_INET6;
  return ntohs(is_v6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                     : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

// Errors: errno.
tl::expected<UniqueFd, int> listen_at(const addrinfo& at) {
  UniqueFd fd(socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return tl::unexpected(errno);
  const int yes = 1;
  const int no = 0;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (at.ai_family == AF_INET6) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  if (bind(fd.get(), at.ai_addr, at.ai_addrlen) != 0 || listen(fd.get(), SOMAXCONN) != 0)
    return tl::unexpected(errno);
  return fd;
}

bool is_without_ipv6(int error) {
  return error == EAFNOSUPPORT || error == EADDRNOTAVAIL;
}

}  // namespace

Result<ListeningSocket> listen_on(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string name = host.size() > 2 && host.front() == '[' ? host.substr(1, host.size() - 2) : host;
  if (const int code = getaddrinfo(name.c_str(), port.c_str(), &hints, &found); code != 0) {
    return bad_input(fmt::format("cannot listen on {}:{}: {}", host, port, gai_strerror(code)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> address(found, freeaddrinfo);
  auto fd = listen_at(*address);
  if (!fd && name == "::" && is_without_ipv6(fd.error())) return listen_on("0.0.0.0", port);
  if (!fd) return bad_input(fmt::format("cannot listen on {}:{}: {}", host, port, std::strerror(fd.error())));
  const int chosen = port_of(fd->get());
  return ListeningSocket{std::move(*fd), chosen};
}

}  // namespace caravan
