// Whether a caller may do what he asks for, as the API server's own authorization says (SubjectAccessReview).
//
// Asked first for all objects of the namespace, then for the one; an answer stands for ten seconds. When the
// API server cannot be asked, nobody may do anything. Safe for any thread.
#pragma once

#include <string>
#include <tuple>

#include "kube/client/client.h"
#include "service/access/caller.h"
#include "service/access/callers.h"
#include "serving/expiring_cache.h"

namespace caravan::service {

// On llamatrainingjobs.
struct Action {
  std::string verb;             // as Kubernetes has it: get, list, watch, create
  std::string name_space = {};  // empty: all
  std::string name = {};        // empty: all
};

class Rights {
 public:
  static constexpr std::size_t kMostRemembered = 16384;

  Rights(kube::Client& client, Clock& clock)
      : client_(client), known_(clock, kReviewsStand, kMostRemembered) {}

  Answer<void> check(const CallContext& context, const Caller& caller, const Action& action);

 private:
  using Key = std::tuple<Digest, std::string, std::string, std::string>;  // of who asks, then as in Action

  Answer<bool> may(const CallContext& context, const Caller& caller, const Action& action);
  Answer<bool> ask(const CallContext& context, const Caller& caller, const Action& action);

  kube::Client& client_;
  ExpiringCache<Key, bool> known_;
};

}  // namespace caravan::service
