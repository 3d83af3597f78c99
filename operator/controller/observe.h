// From the caches to one snapshot of a job.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "kube/watch/store.h"
#include "operator/controller/domain_claims.h"
#include "operator/controller/job_reader.h"
#include "operator/controller/node_reader.h"
#include "operator/controller/snapshot.h"
#include "operator/controller/taken_room.h"

namespace caravan::controller {

// Those of a queueing system, which a cluster may have or not.
struct QueueCaches {
  const kube::Store& workloads;
  const kube::Store& flavors;
  const kube::Store& workload_priorities;
  const kube::Store& pod_priorities;
  std::function<QueueView::Api()> api;
  // Why nobody knows that; empty while the caches fill.
  std::function<std::string()> trouble = [] { return std::string(); };
};

// The local copies of what the operator watches. They outlive this.
struct Caches {
  const kube::Store& jobs;
  const kube::Store& pods;
  const kube::Store& services;
  const kube::Store& config_maps;
  const kube::Store& accounts;
  const kube::Store& network_policies;
  const kube::Store& nodes;
  const NodeReader& node_reader;       // of those nodes
  const TakenRoom& taken;              // by those pods
  const QueueCaches* queue = nullptr;  // null: no queue is asked
};

// Nothing when there is no such job. Without progress and trouble, which do not come from the API server.
std::optional<Snapshot> observe(const Caches& caches, const DomainClaims& claims, JobReader& reader,
                                const kube::ObjectKey& key);
// Of a job that chooses domains: what other jobs take of machines and domains by now.
void observe_room(const Caches& caches, const DomainClaims& claims, Snapshot& snapshot);

}  // namespace caravan::controller
