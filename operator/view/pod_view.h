// A pod of a job as decisions and people see it, read from the API server's object: of its containers the one
// that the operator asked for. Absent or strange fields read as nothing; a trouble is one line that a
// terminal may be given.
#pragma once

#include <optional>
#include <string>

#include "operator/api/job_object.h"

namespace caravan::controller {

enum class PodPhase { kPending, kRunning, kSucceeded, kFailed, kUnknown };

struct PodView {
  std::string name = {};
  std::string uid = {};
  std::string version = {};             // resourceVersion
  int node = 0;                         // index within the job
  int attempt = 1;                      // the one that it was made for
  std::string certificates = {};        // the set that it has
  PodPhase phase = PodPhase::kPending;  // its agent's, once that has ended
  bool lingers = false;                 // containers that others put into it run on after its agent
  std::string machine = {};             // that it is bound to; empty: none yet
  std::optional<TimePoint> bound_at = {};
  std::string domain = {};                   // that was chosen for it, as pod_placement.h names domains
  std::optional<TimePoint> gone_by = {};     // being deleted, and when its grace is over
  std::optional<TimePoint> deleted_at = {};  // and when that began
  bool disrupted = false;      // by preemption, eviction through the API or the loss of its machine
  bool evicted = false;        // by its machine: it took more than it may, or the machine ran short
  bool out_of_memory = false;  // the kernel killed it for that
  TimePoint created_at{};
  std::optional<TimePoint> creating_since = {};  // its container, on the machine that it is bound to
  std::optional<TimePoint> running_since = {};   // it
  std::optional<TimePoint> silent_since = {};    // its machine, as the cluster has it
  std::optional<int> exit_code = {};
  std::optional<TimePoint> finished_at = {};
  std::string last_words = {};  // termination message of its agent, or why it was rejected
  std::string trouble = {};     // why it does not start, in the words of the cluster
  bool gated = false;           // somebody keeps it from the scheduler

  bool operator==(const PodView&) const = default;
  bool bound() const { return !machine.empty(); }
  bool ended() const { return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed; }
  bool is_over() const { return ended() && !lingers; }  // nothing of it runs
  bool alive() const { return !ended() && !gone_by; }
  // A machine that died never says that a pod of its has ended: once its grace is over, it counts as gone.
  bool holds_machine(TimePoint now) const { return !is_over() && !(gone_by && now > *gone_by); }
  // Its agent was told to end and may have the gang write a checkpoint first.
  bool leaving() const { return phase == PodPhase::kRunning && gone_by; }
};

PodView read_pod(const kube::Json& object);

}  // namespace caravan::controller
