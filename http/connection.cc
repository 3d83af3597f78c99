#include "http/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <stop_token>
#include <utility>

namespace caravan::http {
namespace {

constexpr std::string_view kEndOfHead = "\r\n\r\n";
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::size_t kLongestPart = std::size_t{64} << 10;  // of a stream, after which it is sent

}  // namespace

// What the handler has of an exchange. It may outlive connection and server.
class OpenExchange final : public Exchange, public std::enable_shared_from_this<OpenExchange> {
 public:
  OpenExchange(Request request, std::weak_ptr<Connection> connection, std::shared_ptr<Mailbox> mailbox)
      : request_(std::move(request)), connection_(std::move(connection)), mailbox_(std::move(mailbox)) {}

  const Request& request() const override { return request_; }
  void reply(Reply reply) override {
    tell([reply = std::move(reply)](Connection& connection, const OpenExchange* self) {
      connection.reply(self, reply);
    });
  }
  void stream(Reply head, Next next, std::string heartbeat, std::shared_ptr<void> kept) override {
    tell([head = std::move(head), next = std::move(next), heartbeat = std::move(heartbeat),
          kept = std::move(kept)](Connection& connection, const OpenExchange* self) mutable {
      connection.stream(self, head, std::move(next), std::move(heartbeat), std::move(kept));
    });
  }
  void wake() override {
    tell([](Connection& connection, const OpenExchange* self) { connection.wake(self); });
  }
  void end(std::string last_words) override {
    tell([words = std::move(last_words)](Connection& connection, const OpenExchange* self) mutable {
      connection.end_stream(self, std::move(words));
    });
  }
  std::stop_token stop() const override { return stop_.get_token(); }

  void request_stop() { stop_.request_stop(); }

 private:
  // A connection is held by the server's thread only, where it has to end.
  template <typename What>
  void tell(What what) {
    mailbox_->post([self = shared_from_this(), what = std::move(what)]() mutable {
      if (const auto connection = self->connection_.lock()) what(*connection, self.get());
    });
  }

  const Request request_;
  const std::weak_ptr<Connection> connection_;
  const std::shared_ptr<Mailbox> mailbox_;
  std::stop_source stop_;
};

void Shared::make_room() {
  auto oldest = std::ranges::find_if(open, [](const auto& each) { return each->waits_for_a_request(); });
  if (oldest == open.end())
    oldest = std::ranges::find_if(open, [](const auto& each) { return each->writes(); });
  if (oldest == open.end()) return;
  const ConnectionPtr closed = *oldest;  // which leaves the list
  closed->close();
}

void Shared::free_memory() {
  while (bytes > limits.memory_bytes && !open.empty()) {
    const ConnectionPtr largest =
        *std::ranges::max_element(open, {}, [](const auto& each) { return each->bytes(); });
    largest->close();
  }
}

void Shared::leave(const Connection* connection) {
  std::erase_if(open, [connection](const auto& each) { return each.get() == connection; });
  if (open.empty() && none_left) none_left();
}

Connection::Connection(Wire::Socket socket, std::shared_ptr<TlsContext> tls, Shared& shared)
    : wire_(std::move(socket), std::move(tls)),
      shared_(shared),
      deadline_(wire_.executor()),
      heartbeat_(wire_.executor()) {}

void Connection::begin() {
  expire_in(shared_.limits.head_time);
  wire_.handshake([self = shared_from_this()](error_code error) { error ? self->close() : self->read(); });
}

void Connection::close() {
  if (std::exchange(phase_, Phase::kClosed) == Phase::kClosed) return;
  const auto self = shared_from_this();
  deadline_.cancel();
  heartbeat_.cancel();
  wire_.close();
  if (exchange_) exchange_->request_stop();
  exchange_.reset();
  stream_ = {};
  shared_.bytes -= std::exchange(bytes_, 0);
  shared_.leave(this);
}

void Connection::stop() {
  if (waits_for_a_request()) return close();
  if (phase_ == Phase::kStreams) end_stream(exchange_.get(), "");
}

// Of what is read or written from now on, as a whole.
void Connection::expire_in(std::chrono::milliseconds time) {
  deadline_.expires_after(time);
  deadline_.async_wait([weak = weak_from_this()](error_code cancelled) {
    const auto self = weak.lock();
    // It may have been set anew while this was on its way.
    if (!cancelled && self && self->deadline_.expiry() <= std::chrono::steady_clock::now()) self->close();
  });
}

void Connection::read() {
  if (reads_ || phase_ == Phase::kClosed) return;
  reads_ = true;
  wire_.read_some(boost::asio::buffer(chunk_),
                  [self = shared_from_this()](error_code error, std::size_t count) {
                    self->reads_ = false;
                    if (self->phase_ == Phase::kClosed) return;
                    if (self->phase_ == Phase::kEnds) return self->shut_down();
                    error ? self->on_lost_reader() : self->take(count);
                  });
}

// He may have ended only what he sends, and wait for his answer.
void Connection::on_lost_reader() {
  heard_the_end_ = true;
  if (exchange_) exchange_->request_stop();
  if (phase_ != Phase::kWorks && phase_ != Phase::kReplies) close();
}

void Connection::take(std::size_t count) {
  if (phase_ == Phase::kAwaits && !head_ && input_.empty()) expire_in(shared_.limits.head_time);
  input_.append(chunk_.data(), count);
  weigh();
  if (phase_ == Phase::kAwaits) return head_ ? take_body() : take_head();
  read_ahead();
}

// Whoever is being answered is read only so far that his end is noticed.
void Connection::read_ahead() {
  if (input_.size() < shared_.limits.head_bytes) read();
}

void Connection::take_head() {
  const bool is_whole = input_.find(kEndOfHead, searched_) != std::string::npos;
  if (!is_whole && input_.size() < shared_.limits.head_bytes) {
    searched_ = input_.size() - std::min(input_.size(), kEndOfHead.size() - 1);
    return read();
  }
  searched_ = 0;
  auto head = read_head(input_, shared_.limits.head_bytes);
  if (!head) return read();
  if (!*head) return refuse(head->error());
  if ((*head)->body_bytes > shared_.limits.body_bytes) {
    return refuse({.status = "413 Content Too Large",
                   .words = fmt::format("expected a body of at most {} bytes", shared_.limits.body_bytes)});
  }
  head_ = **std::move(head);
  input_.erase(0, head_->bytes);
  weigh();
  if (phase_ == Phase::kClosed) return;
  if (head_->body_bytes > 0) expire_in(shared_.limits.body_time);
  if (!head_->awaits_continue || !input_.empty()) return take_body();
  send(std::string(kContinue), [this] { take_body(); });
}

void Connection::take_body() {
  if (writes_) return;  // comes again when that is done
  if (input_.size() < head_->body_bytes) return read();
  hand_over();
}

void Connection::hand_over() {
  never_expire();
  phase_ = Phase::kWorks;
  Request request = std::move(head_->request);
  request.body = input_.substr(0, head_->body_bytes);
  input_.erase(0, head_->body_bytes);
  request.host = wire_.host();
  request.certificate_pem = wire_.certificate();
  wants_body_ = request.method != "HEAD";
  exchange_ = std::make_shared<OpenExchange>(std::move(request), weak_from_this(), shared_.mailbox);
  weigh();
  if (phase_ == Phase::kClosed) return;
  shared_.handler(exchange_);
  read_ahead();
}

void Connection::refuse(const Refusal& refusal) {
  phase_ = Phase::kReplies;
  const Reply reply = shared_.refuse(refusal);
  expire_in(shared_.limits.answer_time);
  send(head_of(reply, reply.body.size(), false, false) + reply.body, [this] { go_on(false); });
}

// sent: when all of it is taken.
void Connection::send(std::string answer, std::function<void()> sent) {
  answer_ = std::move(answer);
  weigh();
  if (phase_ == Phase::kClosed) return;
  writes_ = true;
  wire_.write(boost::asio::buffer(answer_),
              [self = shared_from_this(), sent = std::move(sent)](error_code error) {
                self->writes_ = false;
                self->answer_ = {};
                if (self->phase_ == Phase::kClosed) return;
                if (error) return self->close();
                self->weigh();
                sent();
              });
}

void Connection::reply(const OpenExchange* exchange, const Reply& reply) {
  if (exchange != exchange_.get() || phase_ != Phase::kWorks) return;
  phase_ = Phase::kReplies;
  const bool keep = head_->keeps_connection && !heard_the_end_ && !shared_.stops;
  std::string answer = head_of(reply, reply.body.size(), false, keep);
  if (wants_body_) answer += reply.body;
  expire_in(shared_.limits.answer_time);
  send(std::move(answer), [this, keep] { go_on(keep); });
}

void Connection::go_on(bool keep) {
  exchange_.reset();
  head_.reset();
  stream_ = {};
  weigh();
  if (!keep || heard_the_end_ || shared_.stops) return finish();
  phase_ = Phase::kAwaits;
  expire_in(input_.empty() ? shared_.limits.idle_time : shared_.limits.head_time);
  take_head();
}

void Connection::stream(const OpenExchange* exchange, const Reply& head, Exchange::Next next,
                        std::string heartbeat, std::shared_ptr<void> kept) {
  if (exchange != exchange_.get() || phase_ != Phase::kWorks) return;
  if (heard_the_end_) return close();  // as of a stream that is under way: nobody will end it otherwise
  phase_ = Phase::kStreams;
  stream_.next = std::move(next);
  stream_.heartbeat = std::move(heartbeat);
  stream_.kept = std::move(kept);
  stream_.in_chunks = head_->takes_chunks;
  stream_.end = std::chrono::steady_clock::now() + shared_.limits.stream_time;
  if (shared_.stops && !stream_.last_words) stream_.last_words = "";
  std::string answer = head_of(head, std::nullopt, stream_.in_chunks, false);
  if (!head.body.empty()) answer += stream_.in_chunks ? chunk_of(head.body) : head.body;
  expire_in(shared_.limits.answer_time);
  send(std::move(answer), [this] { flow(false); });
}

void Connection::wake(const OpenExchange* exchange) {
  if (exchange == exchange_.get() && phase_ == Phase::kStreams) flow(false);
}

void Connection::end_stream(const OpenExchange* exchange, std::string last_words) {
  if (exchange != exchange_.get() || stream_.last_words) return;
  if (phase_ != Phase::kWorks && phase_ != Phase::kStreams) return;
  stream_.last_words = std::move(last_words);
  stream_.next = nullptr;
  exchange_->request_stop();
  if (phase_ == Phase::kStreams) flow(false);
}

// Sends what there is, if nothing is on its way.
void Connection::flow(bool heartbeat_is_due) {
  if (writes_) return;
  if (!stream_.last_words && std::chrono::steady_clock::now() >= stream_.end) stream_.last_words = "";
  if (stream_.last_words) return end_of_stream();
  std::string part;
  while (part.size() < kLongestPart && stream_.next(part)) {
  }
  if (part.empty() && heartbeat_is_due) part = stream_.heartbeat;
  if (part.empty()) {
    never_expire();
    return await_heartbeat();
  }
  heartbeat_.cancel();
  expire_in(shared_.limits.answer_time);
  send(stream_.in_chunks ? chunk_of(part) : part, [this] { flow(false); });
}

void Connection::end_of_stream() {
  phase_ = Phase::kReplies;
  heartbeat_.cancel();
  exchange_->request_stop();
  std::string end;
  if (!stream_.last_words->empty())
    end = stream_.in_chunks ? chunk_of(*stream_.last_words) : *stream_.last_words;
  if (stream_.in_chunks) end += kLastChunk;
  stream_ = {};
  expire_in(shared_.limits.answer_time);
  end.empty() ? go_on(false) : send(std::move(end), [this] { go_on(false); });
}

void Connection::await_heartbeat() {
  heartbeat_.expires_after(shared_.limits.heartbeat_time);
  heartbeat_.async_wait([weak = weak_from_this()](error_code cancelled) {
    const auto self = weak.lock();
    if (!cancelled && self && self->phase_ == Phase::kStreams) self->flow(true);
  });
}

// Unread input would make close() reset the connection before the client has read its answer.
void Connection::finish() {
  if (heard_the_end_) return close();
  phase_ = Phase::kEnds;
  input_.clear();
  weigh();
  expire_in(shared_.limits.head_time);
  reads_ ? wire_.cancel() : shut_down();
}

void Connection::shut_down() {
  wire_.shut_down([self = shared_from_this()] {
    if (self->phase_ != Phase::kClosed) self->discard();
  });
}

void Connection::discard() {
  wire_.read_some(boost::asio::buffer(chunk_), [self = shared_from_this()](error_code error, std::size_t) {
    if (self->phase_ == Phase::kClosed) return;
    error ? self->close() : self->discard();
  });
}

// May close whoever holds most, and so this one.
void Connection::weigh() {
  if (phase_ == Phase::kClosed) return;
  const std::size_t read = head_ ? head_->request.bytes() : 0;
  const std::size_t request = exchange_ ? exchange_->request().bytes() : 0;
  shared_.bytes -= bytes_;
  bytes_ = input_.size() + answer_.size() + read + request;
  shared_.bytes += bytes_;
  shared_.free_memory();
}

}  // namespace caravan::http
