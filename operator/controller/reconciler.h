// One run of the controller for one job: observe, decide, execute. Made by an operator when it begins to
// lead.
//
// A run is put off while the caches have not seen our own last writes, so that nobody decides on an older
// picture; when others changed the job meanwhile, its status is left alone and decided again. A job that has
// chosen domains of the topology while another did is decided again at once (domain_claims.h). Events leave
// once the status that they tell of is written, or the repair is made, whatever becomes of the rest; a
// refusal of the server becomes part of the next snapshot, and so of the job's conditions; of one of the
// status itself an event tells, once an hour while it lasts. A job with more to do than a batch comes again
// at the end of the queue.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "kube/queue/reconcile_loop.h"
#include "operator/controller/domain_claims.h"
#include "operator/controller/execute.h"
#include "operator/controller/observe.h"
#include "operator/controller/settings.h"

namespace caravan::controller {

class Reconciler {
 public:
  struct Outside {
    std::function<std::optional<JobProgress>(const std::string& job_uid)> progress;
    std::function<void(const std::string& job_uid)> forget;
    std::function<void(const Job&, const Note&)> record;
    // Each decision before it is carried out, and how long it took.
    std::function<void(const Snapshot&, const Decision&, Clock::Duration)> decided;
    std::function<void()> put_off;
    std::function<void(const std::string& job_uid, const std::string& request)> ask_for_checkpoint;
    std::function<void(const std::string& job_uid)> ask_to_stop = [](const std::string&) {};
    // Older jobs that wait for machines, too.
    std::function<int(const Job&)> gangs_ahead = [](const Job&) { return 0; };
    // Adds the Workload's place in its queue.
    std::function<void(const CallContext&, const Job&, QueueView&)> add_position =
        [](const CallContext&, const Job&, QueueView&) {};
  };

  Reconciler(Caches caches, kube::Client& client, Clock& clock, Settings settings, Outside outside);

  tl::expected<kube::Action, kube::ReconcileError> reconcile(const CallContext& context,
                                                             const kube::ObjectKey& key);

 private:
  bool caches_are_current(const std::string& name_space, const std::string& job_uid);
  // What is known of a job beside what the API server tells. Lost with the leader.
  struct Memory {
    std::string trouble;                              // why the last change to the cluster was refused
    std::string written_plan;                         // fingerprint; empty: unknown
    std::optional<Clock::TimePoint> refusal_told_at;  // of the status, which has not been written since
  };
  Memory memory_of(const std::string& job_uid);
  void warn(const Job& job, const char* reason, const std::string& text);
  void warn_of_refusal(const Job& job, const std::string& text);
  void add_own_knowledge(const CallContext& context, Snapshot& snapshot);
  Decision decide_in_turn(Snapshot& snapshot);
  tl::expected<kube::Action, kube::ReconcileError> after(const Snapshot& snapshot, const Decision& decision,
                                                         const Executed& executed);
  void remember(const std::string& job_uid, const Decision& decision, const Executed& executed);
  // Since when.
  Clock::TimePoint know(const kube::ObjectKey& key, const std::string& job_uid);
  void forget(const kube::ObjectKey& key);

  Caches caches_;
  Clock& clock_;
  Settings settings_;
  Outside outside_;
  JobReader reader_;
  DomainClaims claims_;
  std::mutex turn_to_claim_;
  kube::OwnWrites writes_;
  Executor executor_;
  std::mutex mutex_;
  std::map<std::string, Memory> memory_;  // by job UID
  struct Known {
    std::string uid;
    Clock::TimePoint since;
  };
  std::map<kube::ObjectKey, Known> known_;  // jobs that were seen
};

}  // namespace caravan::controller
