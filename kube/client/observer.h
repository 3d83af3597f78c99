// What a program may want to count or log of this room's work; every function does nothing by default.
//
// Called from any thread; must not block and must not call back.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "kube/api/api_error.h"
#include "kube/api/object.h"

namespace caravan::kube {

// How one run of a reconciler ended.
enum class ReconcileEnd { kDone, kRequeued, kError, kTerminalError, kException };

// So long, a server had time to answer.
inline constexpr std::chrono::seconds kFairChance{1};

class Observer {
 public:
  virtual ~Observer() = default;

  // Each try of a call; `code` is 0 when the server did not answer. Left out is what its caller ended before
  // kFairChance was over.
  virtual void on_request(std::string_view /*verb*/, int /*code*/) {}
  // By how much this machine's wall clock is ahead of the server's at least, as an answer tells; negative: it
  // is behind. Of several servers each answers by its own clock.
  virtual void on_clocks_compared(std::chrono::seconds /*ahead*/) {}
  // A call is tried again after `wait`; the error names the call and tells who throttles it.
  virtual void on_retry(const ApiError& /*error*/, std::chrono::milliseconds /*wait*/) {}
  virtual void on_relist(std::string_view /*plural*/) {}
  virtual void on_watch_opened(std::string_view /*plural*/) {}
  // A key left the work queue, where it had been due for that long.
  virtual void on_taken(std::chrono::nanoseconds /*waited*/) {}
  virtual void on_reconcile_failed(const ObjectKey& /*key*/, const std::string& /*message*/) {}
  // `cpu`: of its thread; the rest of `took` is waiting, for the server or for a processor.
  virtual void on_reconciled(ReconcileEnd /*end*/, std::chrono::nanoseconds /*took*/,
                             std::chrono::nanoseconds /*cpu*/) {}
  virtual void on_warning(const std::string& /*message*/) {}
};

}  // namespace caravan::kube
