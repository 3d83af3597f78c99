// One connection of a server: requests one after the other, each answered before the next is taken. Only for
// this room's .cc files: this header is heavy.
//
// All of it runs on the server's thread; what others say of an exchange comes there by the mailbox.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "http/exchange.h"
#include "http/head.h"
#include "http/limits.h"
#include "http/wire.h"

namespace caravan::http {

// How other threads reach the server's. What is posted after it was closed is dropped.
class Mailbox {
 public:
  explicit Mailbox(boost::asio::io_context& context) : context_(&context) {}
  template <typename Task>
  void post(Task task) {
    const std::scoped_lock lock(mutex_);
    if (context_ != nullptr) boost::asio::post(*context_, std::move(task));
  }
  void close() {
    const std::scoped_lock lock(mutex_);
    context_ = nullptr;
  }

 private:
  std::mutex mutex_;
  boost::asio::io_context* context_;
};

class Connection;
using ConnectionPtr = std::shared_ptr<Connection>;

// What all connections of a server share.
struct Shared {
  Handler handler;
  Refuse refuse;
  Limits limits;
  std::shared_ptr<Mailbox> mailbox;
  std::vector<ConnectionPtr> open = {};  // the oldest first
  std::size_t bytes = 0;                 // that they hold
  bool stops = false;
  std::function<void()> none_left = {};

  // Closes the oldest that waits for a request, else the oldest that does not take its answer.
  void make_room();
  // Closes whoever holds most, the oldest of them, until the others hold no more than they may together.
  void free_memory();
  void leave(const Connection* connection);
};

class OpenExchange;

class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Wire::Socket socket, std::shared_ptr<TlsContext> tls, Shared& shared);

  void begin();
  void close();
  // Answers what is under way, and nothing more.
  void stop();

  bool waits_for_a_request() const { return phase_ == Phase::kAwaits || phase_ == Phase::kEnds; }
  bool writes() const { return writes_; }
  std::size_t bytes() const { return bytes_; }

  // Of the exchange, as others say it.
  void reply(const OpenExchange* exchange, const Reply& reply);
  void stream(const OpenExchange* exchange, const Reply& head, Exchange::Next next, std::string heartbeat,
              std::shared_ptr<void> kept);
  void wake(const OpenExchange* exchange);
  void end_stream(const OpenExchange* exchange, std::string last_words);

 private:
  enum class Phase { kAwaits, kWorks, kReplies, kStreams, kEnds, kClosed };
  using error_code = boost::system::error_code;

  struct Stream {
    Exchange::Next next = {};
    std::string heartbeat = {};
    std::shared_ptr<void> kept = {};
    std::optional<std::string> last_words = {};
    bool in_chunks = true;
    std::chrono::steady_clock::time_point end = {};
  };

  void expire_in(std::chrono::milliseconds time);
  void never_expire() { deadline_.cancel(); }
  void read();
  void take(std::size_t count);
  void read_ahead();
  void on_lost_reader();
  void take_head();
  void take_body();
  void hand_over();
  void refuse(const Refusal& refusal);
  void send(std::string answer, std::function<void()> sent);
  void go_on(bool keep);
  void flow(bool heartbeat_is_due);
  void end_of_stream();
  void await_heartbeat();
  void finish();
  void shut_down();
  void discard();
  void weigh();

  Wire wire_;
  Shared& shared_;
  Phase phase_ = Phase::kAwaits;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer heartbeat_;
  std::array<char, 4096> chunk_{};
  bool reads_ = false;
  bool writes_ = false;
  bool heard_the_end_ = false;  // the client sends nothing more
  bool wants_body_ = true;      // of the answer
  std::string input_;
  std::size_t searched_ = 0;  // so far there is no end of a head in it
  std::string answer_;        // that is being written
  std::size_t bytes_ = 0;
  std::optional<Head> head_;  // of the request that is being read, or answered
  std::shared_ptr<OpenExchange> exchange_;
  Stream stream_;
};

}  // namespace caravan::http
