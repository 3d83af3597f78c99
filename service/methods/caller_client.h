// The API server, called as the caller: with the token that he showed, over connections that carry no
// identity of this service's own. So nobody can do through the service what he could not do with kubectl, and
// the service needs no right to do it.
#pragma once

#include <memory>
#include <string>

#include "kube/client/client.h"
#include "kube/transport/pooled_transport.h"
#include "service/methods/call.h"

namespace caravan::service {

// The authority to trust, and nobody's name.
class NobodysCredentials final : public kube::Credentials {
 public:
  explicit NobodysCredentials(kube::Credentials& own) : own_(own) {}

  kube::ApiResult<std::string> token(const CallContext&) override { return std::string(); }
  kube::ApiResult<kube::TlsMaterial> tls(const CallContext& context) override;
  void forget(const std::string&) override {}
  void forget_files() override { own_.forget_files(); }

 private:
  kube::Credentials& own_;
};

class TokenCredentials final : public kube::Credentials {
 public:
  explicit TokenCredentials(std::string token) : token_(std::move(token)) {}

  kube::ApiResult<std::string> token(const CallContext&) override { return token_; }
  void forget(const std::string&) override {}
  // Of the transport, which has its own.
  kube::ApiResult<kube::TlsMaterial> tls(const CallContext&) override { return kube::TlsMaterial{}; }
  void forget_files() override {}

 private:
  std::string token_;
};

// A client for one call.
struct CallerClient {
  std::unique_ptr<TokenCredentials> credentials;
  kube::Client client;

  kube::Client* operator->() { return &client; }
};

class CallerClients {
 public:
  CallerClients(kube::Peer peer, kube::Credentials& own, Clock& clock, kube::Observer& observer,
                kube::ClientOptions options);

  // FAILED_PRECONDITION for who came with a certificate, which cannot be passed on.
  Answer<CallerClient> client_of(const Call& call);

 private:
  NobodysCredentials credentials_;
  Clock& clock_;
  kube::Observer& observer_;
  kube::ClientOptions options_;
  kube::PooledTransport transport_;
};

// Of a page of a list that is read as the caller, in bytes.
inline constexpr std::size_t kLongestListPage = std::size_t{4} << 20;

// fault_of(), but for a token that was good here and is not for the API server.
Fault caller_fault_of(const kube::ApiError& error);

}  // namespace caravan::service
