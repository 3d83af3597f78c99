// The operator's local copies of what it watches, and which jobs a change concerns.
//
// Kept is what it owns and reads (kept_fields.h); of objects whose body nobody reads only metadata is asked
// for.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/watch/informer.h"
#include "operator/cache_state.h"
#include "operator/controller/observe.h"
#include "operator/service/report_check.h"
#include "operator/waiting_jobs.h"

namespace caravan::controller {

// For machines that it could use now: not for a queue, an administrator, or what somebody else has to make
// first.
bool waits_for_machines(const kube::Json& job);

// That somebody has changed by hand what the operator waited for, as its messages advise: a status that could
// not be read, or the plan of a job that has none it can follow.
bool is_status_mended(const kube::Json& before, const kube::Json& after);

class WatchedCaches {
 public:
  struct Options {
    std::string name_space = {};  // empty: all
    bool read_nodes = true;
  };
  using Enqueue = std::function<void(const kube::ObjectKey& job)>;
  using Forget = std::function<void(const std::string& job_uid)>;

  // forget: called for each job that is gone, also for one that nobody has looked at yet.
  WatchedCaches(kube::Client& client, Clock& clock, kube::Observer& observer, const Options& options,
                Enqueue enqueue, Forget forget);

  void start();
  bool synced() const;
  // Lists everything anew: what wait_until_synced() waits for is then at least as new as this call.
  void renew();
  // False when the time came or a stop was requested before.
  bool wait_until_synced(const CallContext& context);
  // False when no page of a list that is awaited has come for that long, or a stop was requested before.
  bool wait_while_pages_come(const std::stop_token& stop, Clock::Duration patience);
  std::vector<std::string> unsynced() const;  // by the plural of their resource: what is waited for
  std::vector<CacheState> states() const { return states_of(all_, clock_.now()); }
  Clock::Duration stuck_for() const { return longest_stuck(all_); }
  Caches stores() const;  // without those of queues
  // Nothing when no job of that name and UID is known. Asked with every report: it reads no object.
  std::optional<JobFacts> facts_of(const kube::ObjectKey& key, const std::string& uid) const;
  std::vector<kube::ObjectKey> job_keys() const;
  std::vector<kube::ObjectKey> unplanned_job_keys() const;
  // That wait for machines, as that one does, and come before it.
  int gangs_ahead(const Job& job) const;
  // A child has changed: its job is looked at.
  void on_child(const kube::Change& change);

 private:
  using Keep = std::optional<kube::Json> (*)(const kube::Json&);
  std::unique_ptr<kube::Informer> children(const kube::Resource& resource, Keep keep, kube::Part part,
                                           std::function<void(const kube::Change&)> on_change);
  void on_job(const kube::Change& change);

  kube::Client& client_;
  Clock& clock_;
  kube::Observer& observer_;
  Options options_;
  Enqueue enqueue_;
  Forget forget_;
  kube::Store no_nodes_;
  NodeReader node_reader_;
  TakenRoom taken_;
  mutable std::mutex mutex_;
  std::set<kube::ObjectKey> unplanned_;
  WaitingJobs waiting_;
  std::map<std::string, JobFacts> facts_;  // by UID
  std::unique_ptr<kube::Informer> jobs_;
  std::unique_ptr<kube::Informer> pods_;
  std::unique_ptr<kube::Informer> services_;
  std::unique_ptr<kube::Informer> config_maps_;
  std::unique_ptr<kube::Informer> accounts_;
  std::unique_ptr<kube::Informer> network_policies_;
  std::unique_ptr<kube::Informer> nodes_;  // null when nodes are not read
  std::vector<kube::Informer*> all_;
};

}  // namespace caravan::controller
