// Remembers the machines on which a job failed, and decides which of them its new pods avoid.
//
// A machine is avoided after the second attempt that ended by it: a rank crashed there or held up the others,
// the agent fell silent, the pod crashed or was rejected, or did not start there. What says nothing of a
// machine does not count: lack of memory, preemption, deletion, signals that somebody sends, the job's own
// numbers and volumes. The memory is bounded, and what failed longest ago goes first. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "operator/controller/snapshot.h"

namespace caravan::controller {

// Where the pod was that ran this node of the job in that attempt; empty when nobody knows any more.
std::string machine_of(const std::vector<PodView>& pods, int node, int attempt);
// What a machine has to start a pod: enough for an image of many gigabytes.
inline constexpr std::chrono::minutes kStartsWithin{30};
// When a pod counts as one that its machine cannot start; nothing for one that has started or has none.
std::optional<TimePoint> start_overdue_at(const PodView& pod);
// When a pod that runs counts as one whose machine has died: tolerations may keep it there for ever, and of
// node 0 nobody else tells. Nothing while the cluster hears of the machine. status: of the job; where it
// shows steps all the same, the machine lives; where it has told of none, as it does where no agent can
// report, it is waited for as long as a start may take.
std::optional<TimePoint> machine_given_up_at(const PodView& pod, const v1alpha1::JobStatus& status);
// Whether the end of this pod speaks against its machine.
bool failed_by_machine(const PodView& pod);

// An attempt that ended by it. Nothing for an empty name.
void note_failure(const std::string& machine, int attempt, v1alpha1::JobStatus& status);
// An agent there did not join this attempt; said again of the same attempt it counts once.
void note_absence(const std::string& machine, int attempt, v1alpha1::JobStatus& status);
// Sorted.
std::vector<std::string> avoided_machines(const v1alpha1::JobStatus& status);
// A pod that was there when its machine failed, and is to be made again elsewhere. Only while the gang starts
// again for that failure: one that makes steps is left in peace.
bool must_move(const PodView& pod, const v1alpha1::JobStatus& status);
// Pods move in this attempt, so that the deletion of one is no failure.
bool is_of_a_move(int attempt, const v1alpha1::JobStatus& status);

}  // namespace caravan::controller
