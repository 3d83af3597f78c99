// Everything that one decision about a job depends on, as values: the job, its children, the nodes of the
// cluster, and what its coordinator reported. Made by observe.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/job_object.h"
#include "operator/api/workload_view.h"
#include "operator/children/workload.h"
#include "operator/service/job_progress.h"

namespace caravan::controller {

enum class PodPhase { kPending, kRunning, kSucceeded, kFailed, kUnknown };

// The exit code of a process that a signal ended is this and the signal.
inline constexpr int kSignalExitCode = 128;

struct PodView {
  std::string name = {};
  std::string uid = {};
  int node = 0;                   // index within the job
  int attempt = 1;                // the one that it was made for
  std::string certificates = {};  // the set that it has
  PodPhase phase = PodPhase::kPending;
  std::string machine = {};  // that it is bound to; empty: none yet
  std::optional<TimePoint> bound_at = {};
  std::string domain = {};                // that was chosen for it, as pod_placement.h names domains
  std::optional<TimePoint> gone_by = {};  // being deleted, and when its grace is over
  bool disrupted = false;      // by preemption, eviction through the API or the loss of its machine
  bool evicted = false;        // by its machine: it took more than it may, or the machine ran short
  bool out_of_memory = false;  // the kernel killed it for that
  TimePoint created_at{};
  std::optional<TimePoint> creating_since = {};  // its container, on the machine that it is bound to
  std::optional<int> exit_code = {};
  std::optional<TimePoint> finished_at = {};
  std::string last_words = {};  // termination message of its agent, or why it was rejected
  std::string trouble = {};     // why it does not start, in the words of the cluster
  bool gated = false;           // somebody keeps it from the scheduler

  bool operator==(const PodView&) const = default;
  bool bound() const { return !machine.empty(); }
  bool ended() const { return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed; }
  bool alive() const { return !ended() && !gone_by; }
  // Its agent was told to end and may have the gang write a checkpoint first.
  bool leaving() const { return phase == PodPhase::kRunning && gone_by; }
};

using Demand = std::map<std::string, std::int64_t>;  // by resource

struct NodeView {
  std::string name = {};
  std::map<std::string, std::string> labels = {};
  Demand allocatable = {};
  bool usable = true;  // ready and open for new pods

  bool operator==(const NodeView&) const = default;
};

// The ConfigMap with the plan: not what it holds, but whether that is what was written.
struct PlanView {
  std::string uid = {};
  std::string fingerprint = {};  // of its content
  // What the operator last wrote: as this leader remembers it, or else as the ConfigMap itself says.
  std::string written = {};
};

// What Kueue says of a job that waits in one of its queues.
struct QueueView {
  enum class Api {
    kUnknown,  // the caches fill
    kAbsent,   // the cluster has none
    kRefused,  // this operator may not use it
    kServed,
  };
  Api api = Api::kUnknown;
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
  bool has_network_policy = false;
  // By name; none when the status remembers a plan, unless domains are to be chosen.
  std::vector<NodeView> nodes = {};
  std::optional<JobProgress> progress = {};
  QueueView queue = {};
  int gangs_ahead = 0;  // older jobs that wait for machines, too
  // What pods of other jobs ask of each machine; known, as the nodes are, when domains of the topology are to
  // be chosen.
  std::map<std::string, Demand> taken = {};
  std::string trouble = {};  // why the last change to the cluster was refused; empty after one that was not
};

}  // namespace caravan::controller
