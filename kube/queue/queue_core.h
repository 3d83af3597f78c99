// The work queue as a value without threads: what is due, what runs, what waits.
//
// Guarantees: a key is never handed out while it runs; additions during a run come back once after it; of
// several times for one key the earliest counts; a failing key waits 5 ms, doubling to 1000 s, while others
// pass it. Fair: namespaces take turns, and within one it is first come, first served, so that a key that
// changes all the time queues behind the others; of what runs at once, one namespace has no more than its
// share while another waits; and after every four live changes one of the background class (start-up, resync)
// gets its turn.
#pragma once

#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "common/clock.h"
#include "kube/api/object.h"
#include "kube/queue/fair_line.h"

namespace caravan::kube {

enum class Urgency { kLive, kBackground };

struct QueuePolicy {
  std::chrono::milliseconds first_retry{5};
  std::chrono::milliseconds longest_retry{1'000'000};
  int live_per_background = 4;
  int share_of_a_namespace = std::numeric_limits<int>::max();  // keys that run at once
};

class QueueCore {
 public:
  explicit QueueCore(QueuePolicy policy = {}) : policy_(policy) {}

  void add(const ObjectKey& key, Urgency urgency, Clock::TimePoint now);
  void add_at(const ObjectKey& key, Clock::TimePoint when);
  // The next key that is due; it runs until done().
  std::optional<ObjectKey> take(Clock::TimePoint now);
  void done(const ObjectKey& key, Clock::TimePoint now);
  // How long a key that runs had been due before.
  Clock::Duration waited(const ObjectKey& key) const { return running_.at(key).waited; }
  // Of the key that runs longest; zero when none runs.
  Clock::Duration longest_run(Clock::TimePoint now) const;
  // Comes again after its backoff.
  void retry(const ObjectKey& key, Clock::TimePoint now);
  // It succeeded: the next failure waits as the first.
  void forget(const ObjectKey& key) { failures_.erase(key); }

  // When a delayed key will be due; kNever when none waits.
  Clock::TimePoint next_due() const;
  std::size_t depth() const { return live_.size() + background_.size(); }
  // How long ago the key that waits longest was queued.
  Clock::Duration oldest_wait(Clock::TimePoint now) const;

 private:
  struct Running {
    Clock::TimePoint since;
    Clock::Duration waited;  // before
  };

  bool background_is_next() const;
  template <typename Admits>
  std::optional<ObjectKey> start(Urgency urgency, Admits admits, Clock::TimePoint now);
  FairLine& line_of(Urgency urgency) { return urgency == Urgency::kLive ? live_ : background_; }
  bool has_its_share(const std::string& name_space) const;
  void promote_due(Clock::TimePoint now);

  QueuePolicy policy_;
  FairLine live_;
  FairLine background_;
  std::map<ObjectKey, Urgency> queued_;
  std::map<ObjectKey, Running> running_;
  std::map<std::string, int> running_of_;  // by namespace
  std::map<ObjectKey, Urgency> again_;     // added while they run
  std::map<ObjectKey, Clock::TimePoint> delayed_;
  std::set<std::pair<Clock::TimePoint, ObjectKey>> delayed_by_time_;
  std::map<ObjectKey, int> failures_;
  int live_in_a_row_ = 0;
};

}  // namespace caravan::kube
