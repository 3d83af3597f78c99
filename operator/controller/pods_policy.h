// Decides which pods of a job are made and deleted.
//
// Every node has one living pod: a dead one is deleted and replaced alone, under the name of the present
// attempt. A pod that is being deleted is waited for until its grace is over; one that died is replaced after
// the pause that failurePolicy's library asks for, the longer the more attempts in a row were short. One on a
// machine that failed twice is made again elsewhere, unless Kueue has assigned it that very machine, as is
// one that its machine does not start while others of the job run, or whose machine has died though
// tolerations keep it there; one with a layout that ran out of memory with the next. Pods of one job have
// certificates of one set: a pod that is made when that is missing or old brings a new one, and those that
// have another are replaced with it. Pure.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "operator/children/pod_placement.h"
#include "operator/controller/effects.h"
#include "operator/controller/look_again.h"
#include "operator/controller/snapshot.h"

namespace caravan::controller {

struct PodsVerdict {
  std::vector<const PodView*> deleted = {};  // of the pods that were judged
  std::vector<int> created = {};             // nodes
  bool new_certificates = false;             // for those that are created
  LookAgain look_again = {};
};

// job.status: with this decision's attempt and restarts.
PodsVerdict judge_pods(const Job& job, const Snapshot& snapshot, int nodes, TimePoint now);

// By its queue: whoever is made in its place gets the same machine, until the queue assigns another.
bool is_assigned_its_machine(const PodView& pod, const std::optional<WorkloadView>& workload);

// Of pods that wait for a machine in another domain than the one that their node has: a pod asks for one
// only. settled: nodes whose pods stay as they are.
std::vector<Effect> deletion_of_strays(const std::vector<PodView>& pods, const PodPlacement& placement,
                                       const std::set<int>& settled = {});

}  // namespace caravan::controller
