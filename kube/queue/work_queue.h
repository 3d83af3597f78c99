// The work queue that threads share: queue_core.h behind a mutex, with a blocking take.
#pragma once

#include <mutex>
#include <optional>

#include "common/call_context.h"
#include "kube/queue/queue_core.h"

namespace caravan::kube {

class WorkQueue {
 public:
  explicit WorkQueue(Clock& clock, QueuePolicy policy = {}) : clock_(clock), core_(policy) {}

  void add(const ObjectKey& key, Urgency urgency = Urgency::kLive);
  void add_after(const ObjectKey& key, std::chrono::milliseconds delay);

  // Waits for a key that is due; nothing once a stop was requested, however much is queued.
  std::optional<ObjectKey> take(const std::stop_token& stop);
  // How the run of a taken key ended; each taken key needs one of these.
  void succeeded(const ObjectKey& key);
  void succeeded_and_again(const ObjectKey& key, std::chrono::milliseconds delay);
  void failed(const ObjectKey& key);

  // Of a taken key: how long it had been due.
  Clock::Duration waited(const ObjectKey& key) const;
  // Of all taken keys: how long ago the first was.
  Clock::Duration longest_run() const;
  std::size_t depth() const;
  Clock::Duration oldest_wait() const;

 private:
  Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  QueueCore core_;
};

}  // namespace caravan::kube
