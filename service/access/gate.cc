#include "service/access/gate.h"

namespace caravan::service {

void Gate::enter(Credential credential, CallContext context, Then then) {
  auto known = callers_.recall(credential);
  if (known && !*known) return then(tl::unexpected(std::move(known->error())));
  if (!known) {
    const std::string host = "host " + credential.host;
    if (auto turn = shares_.take_request(host); !turn) return then(tl::unexpected(std::move(turn.error())));
    return post(host, std::move(then),
                [this, credential = std::move(credential), context] { return review(credential, context); });
  }
  if (auto turn = shares_.take_request((*known)->user); !turn)
    return then(tl::unexpected(std::move(turn.error())));
  const std::string user = "user " + (*known)->user;
  post(user, std::move(then), [call = Call{context, *std::move(*known)}] { return call; });
}

Answer<Call> Gate::review(const Credential& credential, const CallContext& context) {
  auto caller = callers_.identify(context, credential);
  if (!caller) return tl::unexpected(std::move(caller.error()));
  if (auto turn = shares_.take_request(caller->user); !turn) return tl::unexpected(std::move(turn.error()));
  return Call{context, *std::move(caller)};
}

void Gate::post(const std::string& peer, Then then, std::function<Answer<Call>()> admit) {
  const bool waits =
      pool_.post(peer, [then, admit = std::move(admit)](const std::stop_token&) { then(admit()); });
  if (waits) return;
  Fault busy{.code = Code::kResourceExhausted,
             .reason = faults::kBusy,
             .message = "too many calls wait; ask again in a moment"};
  busy.retry_after = std::chrono::seconds(1);
  then(tl::unexpected(std::move(busy)));
}

}  // namespace caravan::service
