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
  UniqueFd fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (!fd || bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 || listen(fd.get(), SOMAXCONN) != 0) {
    return bad_input(fmt::format("cannot listen on {}:{}: {}", host, port, std::strerror(errno)));
  }
  const int chosen = port_of(fd.get());
  return ListeningSocket{std::move(fd), chosen};
}

}  // namespace caravan
