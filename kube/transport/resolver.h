// The addresses of a name, looked up on a thread that nobody waits for: while the name server says nothing,
// the C library takes ten seconds and more, and can neither be stopped nor told a deadline.
//
// One look-up of a name runs at once: who asks meanwhile gets the same answer. For the transport's own files.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/result.h"
#include "kube/config/client_config.h"

namespace caravan::kube {

class Resolver {
 public:
  using Addresses = std::vector<boost::asio::ip::tcp::endpoint>;  // at least one
  using Found = std::function<void(const Result<Addresses>&)>;

  explicit Resolver(boost::asio::io_context& loop);
  // The loop has ended; look-ups that still run find nobody.
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // On the thread of the loop, which calls `found`, too; never once it has ended.
  void resolve(const Endpoint& name, Found found);

 private:
  struct WayBack;

  void answer(const Endpoint& name, const Result<Addresses>& addresses);

  std::shared_ptr<WayBack> way_back_;
  std::map<std::string, std::vector<Found>> waiting_;
};

}  // namespace caravan::kube
