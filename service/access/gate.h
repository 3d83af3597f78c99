// The way in, for every call: who it is, whether it is his turn, and a thread that may wait for the API
// server.
//
// Whoever was not known lately waits behind others of his host, whoever was, behind his own calls only, and
// behind those of the ServiceAccounts of his namespace if he is one. What is beyond a bound is refused at
// once. Safe for any thread; outlives every call.
#pragma once

#include <functional>
#include <stop_token>

#include "service/access/callers.h"
#include "service/access/shares.h"
#include "service/methods/call.h"
#include "serving/task_pool.h"

namespace caravan::service {

class Gate {
 public:
  // admitted: that the method may be run. Who calls is told of a refusal too, as far as it is known.
  using Then = std::function<void(const Call& call, const Answer<void>& admitted)>;

  Gate(Callers& callers, Shares& shares, Clock& clock, const TaskPool::Limits& limits)
      : callers_(callers), shares_(shares), pool_(clock, limits) {}

  // `then` is called once: at once with a fault, or by a thread of the pool.
  void enter(Credential credential, CallContext context, const Then& then);

  Clock::Duration longest_run() const { return pool_.longest_run(); }

 private:
  using Admit = std::function<Answer<void>(Call& call)>;

  void post(const TaskPool::Peer& peer, const Call& call, const Then& then, Admit admit);
  // Fills in who it is. payer: whose share the call has been taken from.
  Answer<void> review(const Credential& credential, const std::string& payer, Call& call);

  Callers& callers_;
  Shares& shares_;
  TaskPool pool_;
};

}  // namespace caravan::service
