// Keeps a local copy of one resource, on a thread of its own, and reports every change.
//
// The shell around watch_machine.h. It never gives up: what is forbidden or absent today may be there
// tomorrow; until the first list came through, synced() is false.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "kube/client/client.h"
#include "kube/watch/store.h"
#include "kube/watch/watch_machine.h"

namespace caravan::kube {

struct InformerOptions {
  ResourcePath path;
  std::string label_selector = {};
  int page_size = 500;
  WatchLimits limits = {};
  // Called on each object before it is stored, to drop what nobody reads.
  std::function<void(Json&)> trim = drop_unread_fields;
};

class Informer {
 public:
  using Handler = std::function<void(const Change&)>;

  // `on_change` runs on the informer's thread, after the store has changed.
  Informer(Client& client, Clock& clock, Random random, Observer& observer, InformerOptions options,
           Handler on_change);
  // Stops at once.
  ~Informer();

  void start();
  bool synced() const { return synced_; }
  // False when the time came or a stop was requested before.
  bool wait_until_synced(const CallContext& context);
  const ResourcePath& path() const { return options_.path; }
  const Store& store() const { return store_; }
  // When the server last told anything, a bookmark included: the age of the cache. For metrics; a quiet
  // server is no fault.
  Clock::TimePoint heard_at() const { return Clock::TimePoint(Clock::Duration(heard_at_.load())); }
  // For how long its thread should have done something and has not. Calls and watches have time-outs, so a
  // server that is away, silent or unwilling makes none of this: a long time means a thread that hangs.
  Clock::Duration stuck_for() const;

 private:
  void run(const std::stop_token& stop);
  void expect_progress_within(Clock::Duration time) {
    due_ = (clock_.now() + time).time_since_epoch().count();
  }
  WatchInput perform(const CallContext& context, const WatchAction& action);
  WatchInput perform(const CallContext& context, const ListPage& action);
  WatchInput perform(const CallContext& context, const OpenWatch& action);
  WatchInput perform(const CallContext& context, const ReadEvent& action);
  WatchInput perform(const CallContext& context, const Wait& action);
  void update(CacheUpdate& update);
  std::vector<Change> change(CacheUpdate& update);

  Client& client_;
  Clock& clock_;
  Random random_;
  Observer& observer_;
  InformerOptions options_;
  Handler on_change_;
  Store store_;
  std::optional<WatchStream> stream_;
  std::atomic<bool> synced_{false};
  std::atomic<Clock::Duration::rep> heard_at_{0};
  std::atomic<Clock::Duration::rep> due_{
      Clock::kNever.time_since_epoch().count()};  // of the thread's next step
  std::mutex synced_mutex_;
  std::condition_variable_any synced_changed_;
  std::jthread thread_;
};

}  // namespace caravan::kube
