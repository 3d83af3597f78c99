#include "operator/controller/queue_notice.h"

#include <fmt/format.h>

#include <algorithm>

#include "operator/api/job_conditions.h"
#include "operator/api/names.h"
#include "operator/controller/pod_loss.h"

namespace caravan::controller {

std::vector<Effect> tell_of_pods(const Snapshot& seen, const WorkloadView& workload, int nodes,
                                 TimePoint now) {
  const auto up = std::ranges::count_if(seen.pods, [](const PodView& pod) {
    return !pod.gone_by && (pod.phase == PodPhase::kRunning || pod.phase == PodPhase::kSucceeded);
  });
  const bool ready = up >= nodes;
  const kube::Json* told = workload.condition(workload::kPodsReady);
  if (told != nullptr && workload.is_true(workload::kPodsReady) == ready) return {};
  const std::string before = told == nullptr ? "" : kube::text_at(*told, {"reason"});
  WorkloadCondition condition{workload::kPodsReady, ready, "", fmt::format("{} of {} pods run", up, nodes)};
  if (ready) {
    condition.reason = before == "WaitForRecovery" ? "Recovered" : "Started";
  } else {
    condition.reason = told == nullptr ? "WaitForStart" : "WaitForRecovery";
  }
  return {MergeStatus{kWorkloads, workload.name, conditions_patch(workload, {condition}, now)}};
}

std::vector<Effect> tell_of_end(const Snapshot& snapshot, const v1alpha1::JobStatus& status, TimePoint now) {
  const auto& workload = snapshot.queue.workload;
  if (!workload || workload->being_deleted || workload->is_true(workload::kFinished)) return {};
  if (holds_machines(snapshot.pods, now)) return {};
  const bool failed = is_true(status, conditions::kFailed);
  const WorkloadCondition finished{workload::kFinished, true, failed ? "Failed" : "Succeeded",
                                   failed ? "the job has failed" : "the job is complete"};
  return {MergeStatus{kWorkloads, workload->name, conditions_patch(*workload, {finished}, now)}};
}

}  // namespace caravan::controller
