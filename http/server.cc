#include "http/server.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

#include "common/host_port.h"
#include "common/listen.h"
#include "common/refusal.h"
#include "http/connection.h"

namespace caravan::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Where every descriptor is in use elsewhere, trying again at once would be a busy loop.
constexpr std::chrono::milliseconds kPauseWithoutDescriptors{50};

}  // namespace

class Server::Loop {
 public:
  Loop(UniqueFd listener, Handler handler, const Limits& limits, std::shared_ptr<TlsContext> tls,
       Refuse refuse)
      : acceptor_(context_),
        pause_(context_),
        tls_(std::move(tls)),
        shared_{.handler = std::move(handler),
                .refuse = std::move(refuse),
                .limits = limits,
                .mailbox = mailbox_} {
    acceptor_.assign(tcp::v6(), listener.release());  // of either family, which matters to open() only
    accept();
    thread_ = std::jthread([this] { context_.run(); });
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() {
    mailbox_->close();
    context_.stop();
    thread_.join();
    shared_.none_left = nullptr;
    while (!shared_.open.empty()) ConnectionPtr(shared_.open.front())->close();
  }

  void renew(std::shared_ptr<TlsContext> tls) {
    mailbox_->post([this, tls = std::move(tls)]() mutable { tls_ = std::move(tls); });
  }

  void stop(std::chrono::milliseconds grace) {
    const auto ended = std::make_shared<std::promise<void>>();
    mailbox_->post([this, ended] {
      shared_.stops = true;
      acceptor_.close();
      pause_.cancel();
      shared_.none_left = [ended, told = false]() mutable {
        if (!std::exchange(told, true)) ended->set_value();
      };
      const auto open = shared_.open;  // those that wait leave the list
      for (const ConnectionPtr& each : open) each->stop();
      if (shared_.open.empty()) shared_.none_left();
    });
    ended->get_future().wait_for(grace);
  }

 private:
  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (shared_.stops) return;
      if (error) return accept_later();
      serve(std::move(socket));
      accept();
    });
  }

  // The newest goes only where all others are being answered.
  void serve(tcp::socket socket) {
    if (shared_.open.size() >= shared_.limits.connections) shared_.make_room();
    if (shared_.open.size() >= shared_.limits.connections) return;
    error_code gone;
    socket.set_option(tcp::no_delay(true), gone);  // streams have small parts
    const auto connection = std::make_shared<Connection>(std::move(socket), tls_, shared_);
    shared_.open.push_back(connection);
    connection->begin();
  }

  // Without a descriptor, as a rule.
  void accept_later() {
    shared_.make_room();
    pause_.expires_after(kPauseWithoutDescriptors);
    pause_.async_wait([this](error_code) {
      if (!shared_.stops) accept();
    });
  }

  asio::io_context context_{1};
  const std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>(context_);
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::shared_ptr<TlsContext> tls_;
  Shared shared_;
  std::jthread thread_;
};

Server::Server(std::string address, std::unique_ptr<Loop> loop)
    : address_(std::move(address)), loop_(std::move(loop)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

void Server::renew(std::shared_ptr<TlsContext> tls) {
  loop_->renew(std::move(tls));
}

void Server::stop(std::chrono::milliseconds grace) {
  loop_->stop(grace);
}

Result<Server> Server::start(const std::string& host_port, Handler handler, const Limits& limits,
                             std::shared_ptr<TlsContext> tls, Refuse refuse) {
  const std::string host = host_of(host_port);
  auto listener = listen_on(host, port_of(host_port));
  if (!listener) return tl::unexpected(listener.error());
  const std::string address = fmt::format("{}:{}", host, listener->port);
  try {
    return Server(address, std::make_unique<Loop>(std::move(listener->fd), std::move(handler), limits,
                                                  std::move(tls), std::move(refuse)));
  } catch (const std::system_error& error) {  // no thread
    return refusal(error);
  } catch (const boost::system::system_error& error) {  // no descriptor
    return refusal(std::system_error(error.code()));
  }
}

}  // namespace caravan::http
