// Runs a reconciler for every key of a work queue, on several threads.
//
// Level-triggered: a reconciler gets a key, reads all state and brings the world closer to it. Guarantees: no
// key is reconciled twice at once; an error is retried with the key's own backoff, which beats the requeue
// time that came with it; a terminal error is reported and not retried; an exception is an error. stop() ends
// the contexts of the reconciles that run and returns when they have.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "common/call_context.h"
#include "kube/client/backoff.h"
#include "kube/client/observer.h"
#include "kube/queue/work_queue.h"

namespace caravan::kube {

struct Action {
  std::optional<std::chrono::milliseconds> requeue_after;

  static Action done() { return {}; }
  static Action requeue(std::chrono::milliseconds after) { return {.requeue_after = after}; }
};

struct ReconcileError {
  std::string message;
  bool terminal = false;  // trying again cannot help until something changes
};

using Reconcile = std::function<tl::expected<Action, ReconcileError>(const CallContext&, const ObjectKey&)>;

struct ReconcileOptions {
  int workers = 4;
  std::chrono::milliseconds timeout{60'000};  // deadline of the context that a reconcile gets
  // Every key again, now and then, in case a change was missed; plus up to a tenth of jitter.
  std::chrono::milliseconds resync{std::chrono::hours(10)};
};

class ReconcileLoop {
 public:
  using AllKeys = std::function<std::vector<ObjectKey>()>;

  ReconcileLoop(WorkQueue& queue, Clock& clock, Random random, Observer& observer, ReconcileOptions options,
                Reconcile reconcile, AllKeys all_keys);
  ~ReconcileLoop() { stop(); }

  // Call it when every cache has synced.
  void start();
  void stop();

 private:
  void work(const std::stop_token& stop);
  void resync(const std::stop_token& stop);
  void run_once(const CallContext& context, const ObjectKey& key);
  ReconcileEnd settle(const ObjectKey& key, const tl::expected<Action, ReconcileError>& outcome);

  WorkQueue& queue_;
  Clock& clock_;
  Random random_;
  Observer& observer_;
  ReconcileOptions options_;
  Reconcile reconcile_;
  AllKeys all_keys_;
  std::vector<std::jthread> threads_;
};

}  // namespace caravan::kube
