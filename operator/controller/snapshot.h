// Everything that one decision about a job depends on, as values: the job, its children, the nodes of the
// cluster, and what its coordinator reported. Made by observe.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/job_object.h"
#include "operator/api/workload_view.h"
#include "operator/children/workload.h"
#include "operator/service/job_progress.h"
#include "operator/view/domain_survey.h"
#include "operator/view/node_view.h"
#include "operator/view/pod_view.h"

namespace caravan::controller {

// The ConfigMap with the plan: not what it holds, but whether that is what was written.
struct PlanView {
  std::string uid = {};
  std::string fingerprint = {};  // of its content
  // What the operator last wrote: as this leader remembers it, or else as the ConfigMap itself says.
  std::string written = {};
};

struct NetworkPolicyView {
  std::string uid = {};
  std::string written = {};  // fingerprint of what it was written with
};

// What Kueue says of a job that waits in one of its queues.
struct QueueView {
  enum class Api {
    kUnknown,  // nobody has answered yet, or the caches fill
    kAbsent,   // the cluster has none
    kRefused,  // this operator may not use it
    kServed,
  };
  Api api = Api::kUnknown;
  std::string trouble = {};                        // why that is unknown; empty while the caches fill
  std::optional<WorkloadView> workload = {};       // the job's own
  std::map<std::string, FlavorView> flavors = {};  // those of its admission that are known
  std::optional<WorkloadPriority> priority = {};   // that the job names; nothing: none, or it is not there
  std::string missing_priority = {};               // what it names and is not there
  std::optional<int> position = {};                // in its queue, from 0
  bool has_positions = false;                      // the cluster tells of them
  bool positions_may_come = false;                 // it does not just now
};

struct Snapshot {
  Job job = {};
  std::vector<PodView> pods = {};  // by node, then attempt
  std::optional<PlanView> plan = {};
  bool has_service = false;
  bool has_account = false;
  std::optional<NetworkPolicyView> network_policy = {};
  // By name; none when the status remembers a plan, unless domains are to be chosen, or copies of the model
  // are to be kept together where a queue names machines.
  SharedNodes nodes = std::make_shared<const std::vector<NodeView>>();
  std::optional<JobProgress> progress = {};
  QueueView queue = {};
  int gangs_ahead = 0;  // older jobs that wait for machines, too, see waiting_jobs.h
  // When this operator first looked at the job, whose agents may report to it a while later; long ago where
  // none report.
  TimePoint reported_to_since{};
  // What pods of other jobs ask of each machine; known, as the nodes are, when domains of the topology are to
  // be chosen.
  std::map<std::string, Demand> taken = {};
  // The same of the domains in which pods of other jobs wait for a machine, or for which they are being made.
  DomainDemands asked_of_domains = {};
  std::uint64_t domain_claims = 0;  // that had been made until then (domain_claims.h)
  // The domains of the machines that its pods are bound to, where the job would rather have copies in one.
  std::map<std::string, std::string> domain_of_machine = {};
  std::string trouble = {};  // why the last change to the cluster was refused; empty after one that was not
};

}  // namespace caravan::controller
