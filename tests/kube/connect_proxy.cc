#include "tests/kube/connect_proxy.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <list>
#include <mutex>
#include <sstream>
#include <thread>

#include "tests/kube/tunnel.h"

namespace caravan::kube::testing {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

}  // namespace

class ConnectProxy::Listener {
 public:
  explicit Listener(std::string answer)
      : answer_(std::move(answer)), acceptor_(io_, {asio::ip::address_v4::loopback(), 0}) {
    port_ = acceptor_.local_endpoint().port();
    accepting_ = std::jthread([this] { accept(); });
  }

  ~Listener() {
    ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
    accepting_.join();
    for (Tunnel& tunnel : tunnels_) {
      hang_up(tunnel.client);
      hang_up(tunnel.server);
    }
  }

  int port() const { return port_; }
  std::vector<std::string> targets() const {
    const std::lock_guard guard(mutex_);
    return targets_;
  }

 private:
  struct Tunnel {
    Tunnel(tcp::socket accepted, asio::io_context& io) : client(std::move(accepted)), server(io, tcp::v4()) {}
    tcp::socket client;
    tcp::socket server;
    std::jthread thread;  // joins before the sockets go
  };

  void accept() {
    while (true) {
      error_code error;
      tcp::socket socket = acceptor_.accept(error);
      if (error) return;
      Tunnel& tunnel = tunnels_.emplace_back(std::move(socket), io_);
      tunnel.thread = std::jthread([this, &tunnel] { serve(tunnel); });
    }
  }

  void serve(Tunnel& tunnel) {
    error_code error;
    std::string head;
    asio::read_until(tunnel.client, asio::dynamic_buffer(head), "\r\n\r\n", error);
    std::string method;
    std::string host;
    std::string port;
    std::istringstream words(head);
    words >> method;
    std::getline(words >> std::ws, host, ':');
    words >> port;
    if (error || method != "CONNECT") return hang_up(tunnel.client);
    remember(fmt::format("{}:{}", host, port));
    if (answer_.starts_with("200")) {
      tunnel.server.connect({asio::ip::make_address(host), static_cast<std::uint16_t>(std::stoi(port))},
                            error);
    }
    asio::write(tunnel.client, asio::buffer(fmt::format("HTTP/1.1 {}\r\n\r\n", answer_)), error);
    if (error || !answer_.starts_with("200")) return hang_up(tunnel.client);
    const std::jthread back([&tunnel] { pump(tunnel.server, tunnel.client); });
    pump(tunnel.client, tunnel.server);
  }

  void remember(std::string target) {
    const std::lock_guard guard(mutex_);
    targets_.push_back(std::move(target));
  }

  std::string answer_;
  asio::io_context io_;
  tcp::acceptor acceptor_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> targets_;
  std::list<Tunnel> tunnels_;
  std::jthread accepting_;
};

ConnectProxy::ConnectProxy(std::string answer) : listener_(std::make_unique<Listener>(std::move(answer))) {}

ConnectProxy::~ConnectProxy() = default;

int ConnectProxy::port() const {
  return listener_->port();
}

std::vector<std::string> ConnectProxy::targets() const {
  return listener_->targets();
}

}  // namespace caravan::kube::testing
