#include "kube/transport/pooled_transport.h"

#include <fmt/format.h>

#include <utility>

#include "kube/transport/pending.h"

namespace caravan::kube {
namespace {

// Runs one asynchronous step of a connection; a connection whose step was given up is closed.
template <typename T, typename Start>
ApiResult<T> await(Clock& clock, const CallContext& context, Connection& connection, Start start) {
  Pending<T> pending;
  start(pending.completion());
  ApiResult<T> outcome = pending.wait(clock, context);
  if (!outcome) connection.close();
  return outcome;
}

class ConnectionStream final : public HttpStream {
 public:
  ConnectionStream(Clock& clock, std::shared_ptr<Connection> connection, HttpHead head)
      : clock_(clock), connection_(std::move(connection)), head_(std::move(head)) {}
  ~ConnectionStream() override { connection_->close(); }

  const HttpHead& head() const override { return head_; }

  ApiResult<std::string> read(const CallContext& context) override {
    return await<std::string>(clock_, context, *connection_,
                              [&](Completion<std::string> done) { connection_->read_some(std::move(done)); });
  }

 private:
  Clock& clock_;
  std::shared_ptr<Connection> connection_;
  HttpHead head_;
};

void read_rest(const std::shared_ptr<Connection>& connection, HttpResponse response, std::size_t longest,
               Completion<HttpResponse> done) {
  connection->read_some([connection, response = std::move(response), longest,
                         done = std::move(done)](ApiResult<std::string> chunk) mutable {
    if (!chunk) return done(tl::unexpected(std::move(chunk.error())));
    if (chunk->empty()) return done(std::move(response));
    response.body += *chunk;
    if (longest > 0 && response.body.size() > longest) {
      return done(
          api_failure(ErrorKind::kTooLarge, fmt::format("the answer is longer than {} bytes", longest)));
    }
    read_rest(connection, std::move(response), longest, std::move(done));
  });
}

// The whole answer, without a waiting thread in between.
void exchange(const std::shared_ptr<Connection>& connection, const HttpRequest& request,
              Completion<HttpResponse> done) {
  const std::size_t longest = request.longest_answer;
  connection->send(request, [connection, longest, done = std::move(done)](ApiResult<HttpHead> head) mutable {
    if (!head) return done(tl::unexpected(std::move(head.error())));
    read_rest(connection, {.head = std::move(*head), .body = {}}, longest, std::move(done));
  });
}

}  // namespace

// One of the calls that may run at once.
class PooledTransport::Slot {
 public:
  static ApiResult<Slot> acquire(PooledTransport& of, const CallContext& context) {
    std::unique_lock lock(of.mutex_);
    const auto is_free = [&] { return of.calls_ < of.limits_.calls_at_once; };
    if (!of.clock_.wait_until(lock, of.slot_freed_, context.deadline, context.stop, is_free)) {
      return api_failure(context.stop.stop_requested() ? ErrorKind::kStopped : ErrorKind::kTimeout,
                         "too many calls at once; this one was never sent");
    }
    ++of.calls_;
    return Slot(of);
  }
  Slot(Slot&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  Slot& operator=(Slot&&) = delete;
  ~Slot() {
    if (of_ == nullptr) return;
    const std::lock_guard guard(of_->mutex_);
    --of_->calls_;
    of_->slot_freed_.notify_one();
  }

 private:
  explicit Slot(PooledTransport& of) : of_(&of) {}
  PooledTransport* of_;
};

PooledTransport::PooledTransport(Peer peer, Credentials& credentials, Clock& clock, PoolLimits limits)
    : peer_(std::move(peer)), credentials_(credentials), clock_(clock), limits_(limits) {}

PooledTransport::~PooledTransport() {
  for (const auto& connection : idle_) connection->close();
}

ApiResult<HttpResponse> PooledTransport::call(const CallContext& context, const HttpRequest& request) {
  const auto slot = Slot::acquire(*this, context);
  if (!slot) return tl::unexpected(slot.error());
  const auto tls = current_tls(context);
  if (!tls) return tl::unexpected(tls.error());
  std::shared_ptr<Connection> connection = take_idle();
  if (connection == nullptr) {
    auto dialed = dial(context, *tls);
    if (!dialed) return tl::unexpected(std::move(dialed.error()));
    connection = std::move(*dialed);
  }
  auto response = await<HttpResponse>(clock_, context, *connection, [&](Completion<HttpResponse> done) {
    exchange(connection, request, std::move(done));
  });
  if (response) give_back(std::move(connection), *tls);
  return response;
}

ApiResult<std::unique_ptr<HttpStream>> PooledTransport::open(const CallContext& context,
                                                             const HttpRequest& request) {
  auto tls = current_tls(context);
  if (!tls) return tl::unexpected(std::move(tls.error()));
  auto connection = dial(context, std::move(*tls));
  if (!connection) return tl::unexpected(std::move(connection.error()));
  auto head = await<HttpHead>(clock_, context, **connection, [&](Completion<HttpHead> done) {
    (*connection)->send(request, std::move(done));
  });
  if (!head) return tl::unexpected(std::move(head.error()));
  return std::make_unique<ConnectionStream>(clock_, std::move(*connection), std::move(*head));
}

ApiResult<std::shared_ptr<TlsContext>> PooledTransport::current_tls(const CallContext& context) {
  auto material = credentials_.tls(context);
  if (!material) return tl::unexpected(std::move(material.error()));
  const std::lock_guard guard(mutex_);
  if (tls_ != nullptr && *material == material_) return tls_;
  auto made = make_tls_context(*material);
  if (!made) {
    credentials_.forget_files();
    return made;
  }
  for (const auto& connection : idle_) connection->close();
  idle_.clear();
  material_ = std::move(*material);
  tls_ = *made;
  return tls_;
}

std::shared_ptr<Connection> PooledTransport::take_idle() {
  const std::lock_guard guard(mutex_);
  while (!idle_.empty()) {
    std::shared_ptr<Connection> connection = std::move(idle_.back());
    idle_.pop_back();
    if (connection->reusable()) return connection;
    connection->close();
  }
  return nullptr;
}

ApiResult<std::shared_ptr<Connection>> PooledTransport::dial(const CallContext& context,
                                                             std::shared_ptr<TlsContext> tls) {
  std::shared_ptr<Connection> connection = network_.make_connection(peer_, std::move(tls));
  auto connected = await<bool>(clock_, context, *connection,
                               [&](Completion<bool> done) { connection->connect(std::move(done)); });
  if (connected) return connection;
  // A new authority may lie in its file already.
  if (connected.error().kind == ErrorKind::kUntrusted) credentials_.forget_files();
  return tl::unexpected(std::move(connected.error()));
}

void PooledTransport::give_back(std::shared_ptr<Connection> connection,
                                const std::shared_ptr<TlsContext>& tls) {
  const std::lock_guard guard(mutex_);
  if (tls == tls_ && connection->reusable()) {
    idle_.push_back(std::move(connection));
  } else {
    connection->close();
  }
}

}  // namespace caravan::kube
