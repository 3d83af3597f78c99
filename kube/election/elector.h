// Takes part in a leader election and says, at any moment, whether this process may write.
//
// The shell around election.h. Calls of the lease have credentials and a connection of their own: they wait
// for nothing that the process does besides, however much it writes. run() returns when leadership is lost or
// a stop is requested; the caller exits the process at once in the first case, and in the second stops its
// workers and then calls release().
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "kube/client/client.h"
#include "kube/config/config_credentials.h"
#include "kube/election/election.h"
#include "kube/transport/pooled_transport.h"

namespace caravan::kube {

// Host name and random digits.
std::string process_identity();

class Elector {
 public:
  enum class Outcome { kStopped, kLost };

  // Of `options`, time-out and retries are the election's: a call that hangs does not cost the leadership.
  Elector(const ClientConfig& server, Clock& clock, Random random, Observer& observer,
          const ClientOptions& options, ElectionConfig config);

  // `on_elected` is called once, from this thread, and must not block.
  Outcome run(const std::stop_token& stop, const std::function<void()>& on_elected);
  // Gives the lease to the next one now. Only after every worker has stopped.
  ApiStatus release(const CallContext& context);

  // The gate for ClientOptions::may_write. By the monotonic clock, so it closes in a process that was paused.
  bool may_write() const { return clock_.now().time_since_epoch().count() < leader_until_; }
  // Liveness: false when a loop that should have renewed or stepped down hangs.
  bool healthy() const;

 private:
  ElectionInput perform(const CallContext& context, const ElectionAction& action);
  void warn_of(const ElectionInput& outcome, bool was_read);

  ConfigCredentials credentials_;
  PooledTransport transport_;
  Client client_;
  Clock& clock_;
  Random random_;
  Observer& observer_;
  ElectionState state_;
  std::string warned_;  // the trouble that was told last and still lasts
  std::atomic<Clock::Duration::rep> leader_until_{0};
};

}  // namespace caravan::kube
