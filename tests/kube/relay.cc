#include "tests/kube/relay.h"

#include <sys/socket.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <list>
#include <mutex>
#include <thread>

#include "tests/kube/tunnel.h"

namespace caravan::kube::testing {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

struct Tunnel {
  Tunnel(tcp::socket accepted, tcp::socket connected)
      : client(std::move(accepted)), server(std::move(connected)) {}
  ~Tunnel() {
    hang_up(client);
    hang_up(server);
  }

  tcp::socket client;
  tcp::socket server;
  std::atomic<bool> swallows = false;
  std::jthread there{[this] { pump(client, server, swallows); }};
  std::jthread back{[this] { pump(server, client, swallows); }};
};

}  // namespace

class Relay::Listener {
 public:
  explicit Listener(int to_port)
      : target_(asio::ip::address_v4::loopback(), static_cast<asio::ip::port_type>(to_port)) {
    accepting_ = std::jthread([this] { accept(); });
  }
  ~Listener() {
    ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
    accepting_.join();
  }

  int port() const { return acceptor_.local_endpoint().port(); }
  void swallow() {
    const std::scoped_lock lock(mutex_);
    for (Tunnel& tunnel : tunnels_) tunnel.swallows = true;
  }

 private:
  void accept() {
    while (true) {
      error_code error;
      tcp::socket accepted = acceptor_.accept(error);
      if (error) return;
      tcp::socket connected(io_);
      connected.connect(target_, error);
      if (error) continue;
      const std::scoped_lock lock(mutex_);
      tunnels_.emplace_back(std::move(accepted), std::move(connected));
    }
  }

  asio::io_context io_;
  tcp::acceptor acceptor_{io_, {asio::ip::address_v4::loopback(), 0}};
  const tcp::endpoint target_;
  std::mutex mutex_;
  std::list<Tunnel> tunnels_;
  std::jthread accepting_;
};

Relay::Relay(int to_port) : listener_(std::make_unique<Listener>(to_port)) {}
Relay::~Relay() = default;
int Relay::port() const {
  return listener_->port();
}
void Relay::swallow() {
  listener_->swallow();
}

}  // namespace caravan::kube::testing
