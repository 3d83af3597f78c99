// Keeps a local copy of one resource, on a thread of its own, and reports every change.
//
// The shell around watch_machine.h. It never gives up: what is forbidden or absent today may be there
// tomorrow; until the first list came through, synced() is false.
//
// Others may make objects of this resource too, as many and as large as they please. So what is not wanted is
// dropped when it arrives, and a page of a list has a bounded length. A watch alone does not tell how old the
// copy is, since a server that is behind is silent too: who must know renews it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "kube/client/client.h"
#include "kube/watch/store.h"
#include "kube/watch/watch_machine.h"

namespace caravan::kube {

struct InformerOptions {
  ResourcePath path;
  std::string label_selector = {};
  Part part = Part::kWhole;
  WatchLimits limits = {};
  // What is kept of each object: at least its name, namespace, UID and resourceVersion. Nothing: it is not
  // wanted.
  std::function<std::optional<Json>(const Json&)> keep = without_managed_fields;
  // A list took effect: from which version, empty for the first one, to which. Before its changes are
  // reported.
  std::function<void(const std::string& before, const std::string& now)> on_list = [](const std::string&,
                                                                                      const std::string&) {};
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
  bool synced() const { return listed_for_ >= 0; }
  // Lists anew, from the server's last write on; meanwhile the store stays as it is.
  void renew();
  // Until a list came through that began after the last renew(), if there was one. False when the time came
  // or a stop was requested before.
  bool wait_until_synced(const CallContext& context);
  // The same, as long as it gets on: false when it has come no further for that long. A list of many objects
  // takes its time; one that begins anew and anew comes to nothing.
  bool wait_while_pages_come(const std::stop_token& stop, Clock::Duration patience);
  // What the two wait for.
  bool awaits_list();
  const ResourcePath& path() const { return options_.path; }
  const Store& store() const { return store_; }
  // All that the store has up to this version has been reported, too.
  std::string reported_version();
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
  bool take_up_renewal(const std::stop_token& stop);
  WatchInput perform(const CallContext& context, const WatchAction& action);
  WatchInput perform(const CallContext& context, const ListPage& action);
  WatchInput perform(const CallContext& context, const OpenWatch& action);
  WatchInput perform(const CallContext& context, const ReadEvent& action);
  WatchInput perform(const CallContext& context, const Wait& action);
  void update(CacheUpdate& update);
  std::vector<Change> change(CacheUpdate& update);
  void take_page();
  void finish_update(bool is_list);

  Client& client_;
  Clock& clock_;
  Random random_;
  Observer& observer_;
  InformerOptions options_;
  Handler on_change_;
  Store store_;
  std::optional<WatchStream> stream_;
  int pages_ = 0;       // of the list under way
  int most_pages_ = 0;  // of any list since the last renewal
  std::atomic<Clock::Duration::rep> came_further_at_{0};
  std::atomic<Clock::Duration::rep> heard_at_{0};
  std::atomic<Clock::Duration::rep> due_{
      Clock::kNever.time_since_epoch().count()};  // of the thread's next step
  std::mutex mutex_;
  std::condition_variable_any listed_;
  std::stop_source interruption_;  // of what the thread waits for
  // Each list began for one of the renewals, counted from 0.
  int renewals_ = 0;
  int listing_for_ = 0;
  std::atomic<int> listed_for_{-1};  // -1: none came through
  std::string reported_version_;
  std::jthread thread_;
};

}  // namespace caravan::kube
