#include "service/methods/caller_client.h"

namespace caravan::service {

kube::ApiResult<kube::TlsMaterial> NobodysCredentials::tls(const CallContext& context) {
  return own_.tls(context).map([](kube::TlsMaterial material) {
    material.certificate_pem.clear();
    material.key_pem.clear();
    return material;
  });
}

CallerClients::CallerClients(kube::Peer peer, kube::Credentials& own, Clock& clock, kube::Observer& observer,
                             kube::ClientOptions options)
    : credentials_(own),
      clock_(clock),
      observer_(observer),
      options_(std::move(options)),
      transport_(std::move(peer), credentials_, clock) {}

Answer<CallerClient> CallerClients::client_of(const Call& call) {
  if (call.caller.token.empty())
    return fault(
        Code::kFailedPrecondition, faults::kCertificateOnly,
        "a certificate cannot be passed on to the API server, which is asked as you; come with a token");
  auto credentials = std::make_unique<TokenCredentials>(call.caller.token);
  kube::Client client(transport_, *credentials, clock_, kube::system_random(), options_, observer_);
  return CallerClient{std::move(credentials), std::move(client)};
}

Fault caller_fault_of(const kube::ApiError& error) {
  if (!error.is_unauthorized()) return fault_of(error);
  return {
      .code = Code::kUnauthenticated,
      .reason = faults::kTokenNotForServer,
      .message =
          "the API server, which is asked as you, does not take the token: it is for reading here only, or "
          "has expired; ask for one with `kubectl create token NAME --audience caravan --audience "
          "https://kubernetes.default.svc`, or with the audience of your cluster's API server"};
}

}  // namespace caravan::service
