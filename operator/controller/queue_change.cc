#include "operator/controller/queue_change.h"

#include "operator/api/job_queue.h"
#include "operator/children/replica_groups.h"
#include "operator/controller/queue_hindrance.h"

namespace caravan::controller {
namespace {

// Where the job asks for what is not there, its Workload keeps the place that it has.
bool stands_elsewhere(const Job& job, const QueueView& queue, const WorkloadView& workload) {
  if (hindrance_of_job(job, queue)) return false;
  const std::string priority = queue.priority ? queue.priority->name : "";
  return workload.queue != queue_of(job) || workload.priority_class != priority;
}

// Only a job that was planned again has another layout than its Workload.
bool has_other_slices(const Job& job, const WorkloadView& workload, const v1alpha1::JobPlan& plan) {
  const bool is_asked = job.spec.scheduling().topology().mode() == v1alpha1::Topology::Required;
  return is_asked && job.status.memory_correction().has_attempt() && workload.slice_size &&
         *workload.slice_size != replica_groups(plan).slice_size();
}

}  // namespace

std::string outdated_by(const Snapshot& seen, const WorkloadView& workload, const v1alpha1::JobPlan& plan) {
  if (has_other_slices(seen.job, workload, plan))
    return "the layout has changed, and with it which pods must stay within one domain";
  const bool waits = !workload.is_true(workload::kQuotaReserved);
  return waits && stands_elsewhere(seen.job, seen.queue, workload)
             ? "the job asks for another queue or priority class"
             : "";
}

}  // namespace caravan::controller
