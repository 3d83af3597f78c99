// The local copies of what Kueue knows, in a cluster that has it.
//
// A cluster may have no Kueue, get it later, or not let this operator use it. So its API is asked for until
// it is there, and only then is it watched: a watch of something that is absent would fail for ever. What
// keeps it from being known is told. Safe from several threads.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kube/watch/informer.h"
#include "operator/cache_state.h"
#include "operator/controller/observe.h"

namespace caravan::controller {

class QueueWatch {
 public:
  struct Handlers {
    std::function<void(const kube::Change&)> on_workload;
    std::function<void()> on_change;  // of the API, or of what all jobs that wait depend on
  };

  // name_space: whose jobs are served; empty: all.
  QueueWatch(kube::Client& client, Clock& clock, kube::Observer& observer, const std::string& name_space,
             Handlers handlers);

  // For the leader alone: what is read is then as new as its election.
  void start();
  const QueueCaches& caches() const { return caches_; }
  std::vector<CacheState> states() const { return states_of(all(), clock_.now()); }
  Clock::Duration stuck_for() const { return longest_stuck(all()); }

 private:
  using Api = QueueView::Api;
  using Keep = std::optional<kube::Json> (*)(const kube::Json&);
  std::unique_ptr<kube::Informer> watch(const kube::Resource& resource, Keep keep);
  struct Answer {
    Api api = Api::kUnknown;
    std::string trouble = {};
    bool operator==(const Answer&) const = default;
  };
  std::array<kube::Informer*, 4> all() const;
  void run(const std::stop_token& stop);
  Answer ask(const CallContext& context);
  void become(Answer answer);
  Answer answer() const;

  kube::Client& client_;
  Clock& clock_;
  kube::Observer& observer_;
  std::string name_space_;
  Handlers handlers_;
  mutable std::mutex mutex_;
  Answer answer_;
  std::unique_ptr<kube::Informer> workloads_;
  std::unique_ptr<kube::Informer> flavors_;
  std::unique_ptr<kube::Informer> workload_priorities_;
  std::unique_ptr<kube::Informer> pod_priorities_;
  QueueCaches caches_;
  std::jthread thread_;
};

}  // namespace caravan::controller
