#include "service/access/gate.h"

#include <utility>

namespace caravan::service {

void Gate::enter(Credential credential, CallContext context, const Then& then) {
  const auto known = callers_.recall(credential);
  Call call{.context = std::move(context), .host = credential.host};
  if (known && !*known) return then(call, tl::unexpected(known->error()));
  if (known) call.caller = **known;
  const auto user = known ? std::optional(call.caller.user) : callers_.user_lately(credential);
  const std::string payer = user ? *user : "host " + credential.host;
  if (const auto turn = shares_.take_request(payer); !turn) return then(call, turn);
  Admit admit = [](Call&) { return Answer<void>(); };
  if (!known)
    admit = [this, credential = std::move(credential), payer](Call& of) {
      return review(credential, payer, of);
    };
  const TaskPool::Peer peer =
      user ? TaskPool::Peer{"user " + *user, group_of_accounts(*user)} : TaskPool::Peer{payer};
  post(peer, call, then, std::move(admit));
}

Answer<void> Gate::review(const Credential& credential, const std::string& payer, Call& call) {
  auto caller = callers_.identify(call.context, credential);
  if (!caller) return tl::unexpected(std::move(caller.error()));
  call.caller = *std::move(caller);
  return call.caller.user == payer ? Answer<void>() : shares_.take_request(call.caller.user);
}

void Gate::post(const TaskPool::Peer& peer, const Call& call, const Then& then, Admit admit) {
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
