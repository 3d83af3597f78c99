#include "http/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/system/system_error.hpp>
#include <system_error>
#include <thread>
#include <vector>

#include "common/host_port.h"
#include "common/listen.h"
#include "common/refusal.h"

namespace caravan::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Where every descriptor is in use elsewhere, trying again at once would be a busy loop.
constexpr std::chrono::milliseconds kPauseWithoutDescriptors{50};

class Connection;

struct Service {
  Handler handler;
  Limits limits;
  std::vector<Connection*> open = {};  // the oldest first

  void make_room();
};

// Lives as long as one of its operations is pending.
class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Service& service) : stream_(std::move(socket)), service_(service) {
    service_.open.push_back(this);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { leave(); }

  bool waits_for_a_request() const { return answer_.empty(); }

  void await_request(std::chrono::milliseconds time) {
    stream_.expires_after(time);
    read();
  }

  void close() {
    leave();
    stream_.close();
  }

 private:
  void leave() { std::erase(service_.open, this); }

  // Time-outs are of the whole head and of the whole answer, so they are set before the first of its
  // operations.
  void read() {
    stream_.async_read_some(asio::buffer(chunk_),
                            [self = shared_from_this()](error_code error, std::size_t count) {
                              if (!error) self->take(count);
                            });
  }

  void take(std::size_t count) {
    if (input_.empty()) stream_.expires_after(service_.limits.head_time);
    input_.append(chunk_.data(), count);
    if (!answer()) read();
  }

  // False: the head is not complete.
  bool answer() {
    auto next = answer_next(input_, service_.limits.head_bytes, service_.handler);
    if (!next) return false;
    input_.erase(0, next->request_bytes);
    answer_ = std::move(next->answer);
    stream_.expires_after(service_.limits.answer_time);
    asio::async_write(
        stream_, asio::buffer(answer_),
        [self = shared_from_this(), keep = next->keeps_connection](error_code error, std::size_t) {
          if (!error) self->go_on(keep);
        });
    return true;
  }

  void go_on(bool keep) {
    answer_ = {};
    if (!keep) return end();
    if (input_.empty()) return await_request(service_.limits.idle_time);
    if (!answer()) await_request(service_.limits.head_time);
  }

  // Unread input would make close() reset the connection before the client has read its answer.
  void end() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(service_.limits.head_time);
    discard();
  }

  void discard() {
    stream_.async_read_some(asio::buffer(chunk_), [self = shared_from_this()](error_code error, std::size_t) {
      if (!error) self->discard();
    });
  }

  boost::beast::tcp_stream stream_;
  Service& service_;
  std::array<char, 2048> chunk_{};
  std::string input_;
  std::string answer_;  // the one that is being written
};

void Service::make_room() {
  const auto oldest = std::find_if(open.begin(), open.end(),
                                   [](const Connection* each) { return each->waits_for_a_request(); });
  if (oldest != open.end()) return (*oldest)->close();
  if (!open.empty()) open.front()->close();
}

}  // namespace

class Server::Loop {
 public:
  Loop(UniqueFd listener, Handler handler, const Limits& limits)
      : service_{.handler = std::move(handler), .limits = limits}, acceptor_(context_), pause_(context_) {
    acceptor_.assign(tcp::v6(), listener.release());  // of either family, which matters to open() only
    accept();
    thread_ = std::jthread([this] { context_.run(); });
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() { context_.stop(); }

 private:
  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (error) return accept_later();
      if (service_.open.size() >= service_.limits.connections) service_.make_room();
      std::make_shared<Connection>(std::move(socket), service_)->await_request(service_.limits.head_time);
      accept();
    });
  }

  // Without a descriptor, as a rule.
  void accept_later() {
    service_.make_room();
    pause_.expires_after(kPauseWithoutDescriptors);
    pause_.async_wait([this](error_code) { accept(); });
  }

  Service service_;  // outlives the connections, which end with the context
  asio::io_context context_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::jthread thread_;
};

Server::Server(std::string address, std::unique_ptr<Loop> loop)
    : address_(std::move(address)), loop_(std::move(loop)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

Result<Server> Server::start(const std::string& host_port, Handler handler, const Limits& limits) {
  const std::string host = host_of(host_port);
  auto listener = listen_on(host, port_of(host_port));
  if (!listener) return tl::unexpected(listener.error());
  const std::string address = fmt::format("{}:{}", host, listener->port);
  try {
    return Server(address, std::make_unique<Loop>(std::move(listener->fd), std::move(handler), limits));
  } catch (const std::system_error& error) {  // no thread
    return refusal(error);
  } catch (const boost::system::system_error& error) {  // no descriptor
    return refusal(std::system_error(error.code()));
  }
}

}  // namespace caravan::http
