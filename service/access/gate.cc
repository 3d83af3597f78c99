#include "service/access/gate.h"

namespace caravan::service {

void Gate::enter(Credential credential, CallContext context, Then then) {
  const auto known = callers_.recall(credential);
  Call call{.context = context, .host = credential.host};
  if (known && !*known) return then(call, tl::unexpected(known->error()));
  if (!known) {
    const std::string host = "host " + credential.host;
    if (const auto turn = shares_.take_request(host); !turn) return then(call, turn);
    return post(host, call, std::move(then),
                [this, credential = std::move(credential)](Call& of) { return review(credential, of); });
  }
  call.caller = **known;
  if (const auto turn = shares_.take_request(call.caller.user); !turn) return then(call, turn);
  post("user " + call.caller.user, call, std::move(then), [](Call&) { return Answer<void>(); });
}

Answer<void> Gate::review(const Credential& credential, Call& call) {
  auto caller = callers_.identify(call.context, credential);
  if (!caller) return tl::unexpected(std::move(caller.error()));
  call.caller = *std::move(caller);
  return shares_.take_request(call.caller.user);
}

void Gate::post(const std::string& peer, const Call& call, Then then, Admit admit) {
  const bool waits =
      pool_.post(peer, [call = call, then, admit = std::move(admit)](const std::stop_token&) mutable {
        const Answer<void> admitted = admit(call);
        then(call, admitted);
      });
  if (waits) return;
  Fault busy{.code = Code::kResourceExhausted,
             .reason = faults::kBusy,
             .message = "too many calls wait; ask again in a moment"};
  busy.retry_after = std::chrono::seconds(1);
  then(call, tl::unexpected(std::move(busy)));
}

}  // namespace caravan::service
