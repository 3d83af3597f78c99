#include "kube/transport/resolver.h"

#include <netdb.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace caravan::kube {
namespace {

Result<Resolver::Addresses> look_up(const Endpoint& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  const int code = ::getaddrinfo(name.host.c_str(), name.port.c_str(), &hints, &first);
  if (code != 0) return failure(code == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(code));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(first, freeaddrinfo);
  Resolver::Addresses addresses;
  for (const addrinfo* at = first; at != nullptr; at = at->ai_next) {
    if (at->ai_family != AF_INET && at->ai_family != AF_INET6) continue;
    boost::asio::ip::tcp::endpoint address;
    address.resize(at->ai_addrlen);
    std::memcpy(address.data(), at->ai_addr, at->ai_addrlen);
    addresses.push_back(address);
  }
  if (addresses.empty()) return failure("it has no address");
  return addresses;
}

}  // namespace

// To the loop, while there is one.
struct Resolver::WayBack {
  std::mutex mutex;
  boost::asio::io_context* loop = nullptr;
};

Resolver::Resolver(boost::asio::io_context& loop) : way_back_(std::make_shared<WayBack>()) {
  way_back_->loop = &loop;
}

Resolver::~Resolver() {
  const std::lock_guard guard(way_back_->mutex);
  way_back_->loop = nullptr;
}

void Resolver::resolve(const Endpoint& name, Found found) {
  std::vector<Found>& waiting = waiting_[to_string(name)];
  waiting.push_back(std::move(found));
  if (waiting.size() > 1) return;
  try {
    std::thread([this, way_back = way_back_, name] {
      const auto addresses = look_up(name);
      const std::lock_guard guard(way_back->mutex);
      if (way_back->loop == nullptr) return;  // and so is this resolver gone
      boost::asio::post(*way_back->loop, [this, name, addresses] { answer(name, addresses); });
    }).detach();
  } catch (const std::system_error& error) {
    answer(name, failure(error.what()));
  }
}

void Resolver::answer(const Endpoint& name, const Result<Addresses>& addresses) {
  const auto waiting = waiting_.extract(to_string(name));
  for (const Found& found : waiting.mapped()) found(addresses);
}

}  // namespace caravan::kube
