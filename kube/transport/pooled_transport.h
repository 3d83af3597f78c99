// The transport over TLS: connections are kept alive and used again, and at most so many calls run at once.
//
// Streams have connections of their own and do not count. When the TLS material changes (a rotated authority
// or client certificate), new connections use the new one and idle ones are dropped; after material that does
// not do, its files are read again by the next call.
#pragma once

#include <deque>
#include <mutex>

#include "kube/config/credentials.h"
#include "kube/transport/connection.h"
#include "kube/transport/transport.h"

namespace caravan::kube {

struct PoolLimits {
  int calls_at_once = 64;
};

class PooledTransport final : public Transport {
 public:
  PooledTransport(Peer peer, Credentials& credentials, Clock& clock, PoolLimits limits = {});
  // No call and no stream may be left.
  ~PooledTransport() override;

  ApiResult<HttpResponse> call(const CallContext& context, const HttpRequest& request) override;
  ApiResult<std::unique_ptr<HttpStream>> open(const CallContext& context,
                                              const HttpRequest& request) override;

 private:
  class Slot;

  ApiResult<std::shared_ptr<TlsContext>> current_tls(const CallContext& context);
  std::shared_ptr<Connection> take_idle();
  ApiResult<std::shared_ptr<Connection>> dial(const CallContext& context, std::shared_ptr<TlsContext> tls);
  // `tls` is what the connection was made with.
  void give_back(std::shared_ptr<Connection> connection, const std::shared_ptr<TlsContext>& tls);

  Peer peer_;
  Credentials& credentials_;
  Clock& clock_;
  PoolLimits limits_;
  Network network_;

  std::mutex mutex_;
  std::condition_variable_any slot_freed_;
  int calls_ = 0;
  TlsMaterial material_;
  std::shared_ptr<TlsContext> tls_;
  std::deque<std::shared_ptr<Connection>> idle_;  // the one used last at the back
};

}  // namespace caravan::kube
