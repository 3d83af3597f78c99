// Finds out which job a reporter may speak for, from the token that it shows.
//
// The API server reviews the token for our audience and says which pod it was given to. That pod must be one
// that we made, of node 0, and alive: its owner is the job. Errors say what is wrong, without the token.
#pragma once

#include <string>

#include "kube/client/client.h"
#include "kube/watch/store.h"
#include "operator/service/progress_board.h"

namespace caravan::controller {

class TokenCheck {
 public:
  TokenCheck(kube::Client& client, const kube::Store& pods) : client_(client), pods_(pods) {}

  Result<Reporter> check(const CallContext& context, const std::string& token);

 private:
  kube::Client& client_;
  const kube::Store& pods_;
};

// The pod that a reviewed token was given to.
struct TokenHolder {
  kube::ObjectKey pod;
  std::string pod_uid;
};
Result<TokenHolder> holder_of(const kube::Json& review);

}  // namespace caravan::controller
