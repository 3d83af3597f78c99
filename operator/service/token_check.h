// Finds out which job a reporter may speak for, from the token that it shows.
//
// The API server reviews the token for our audience and says which pod it was given to. That pod must be one
// that we made, of node 0, and alive: its owner is the job. Errors say what is wrong, without the token.
//
// An answer of the API server stands for a minute, a refusal for ten seconds; whether the pod is there is
// asked each time. Safe for any thread.
#pragma once

#include <optional>
#include <string>

#include "kube/client/client.h"
#include "kube/watch/store.h"
#include "operator/service/progress_board.h"
#include "serving/digest.h"
#include "serving/expiring_cache.h"

namespace caravan::controller {

// The pod that a reviewed token was given to.
struct TokenHolder {
  kube::ObjectKey pod;
  std::string pod_uid;
};
Result<TokenHolder> holder_of(const kube::Json& review);

class TokenCheck {
 public:
  static constexpr std::size_t kMostRemembered = 4096;

  TokenCheck(kube::Client& client, Clock& clock, const kube::Store& pods)
      : client_(client),
        pods_(pods),
        holders_(clock, std::chrono::seconds(60), kMostRemembered),
        refusals_(clock, std::chrono::seconds(10), kMostRemembered) {}

  Result<Reporter> check(const CallContext& context, const std::string& token);

 private:
  Result<TokenHolder> review(const CallContext& context, const std::string& token);
  std::optional<Result<TokenHolder>> recall(const Digest& digest) const;

  kube::Client& client_;
  const kube::Store& pods_;
  ExpiringCache<Digest, TokenHolder> holders_;
  ExpiringCache<Digest, Error> refusals_;  // apart, so that made up tokens push out nobody
};

}  // namespace caravan::controller
