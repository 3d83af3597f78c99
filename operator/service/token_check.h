// Finds out which job a reporter may speak for, from the token that it shows.
//
// The API server reviews the token for our audience and says which pod it was given to. That pod must be one
// that we made, of node 0, and alive: its owner is the job. Errors say what is wrong, without the token.
//
// An answer of the API server stands for a minute, a refusal for ten seconds; whether the pod is there is
// asked each time. Safe for any thread.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "kube/client/client.h"
#include "kube/watch/store.h"
#include "operator/service/progress_board.h"
#include "serving/digest.h"

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
      : client_(client), clock_(clock), pods_(pods) {}

  Result<Reporter> check(const CallContext& context, const std::string& token);

 private:
  struct Remembered {
    Result<TokenHolder> holder;
    Clock::TimePoint until;
  };

  Result<TokenHolder> review(const CallContext& context, const std::string& token);
  std::optional<Result<TokenHolder>> recall(const Digest& digest);
  void remember(const Digest& digest, const Result<TokenHolder>& holder);

  kube::Client& client_;
  Clock& clock_;
  const kube::Store& pods_;
  std::mutex mutex_;
  std::map<Digest, Remembered> remembered_;
};

}  // namespace caravan::controller
