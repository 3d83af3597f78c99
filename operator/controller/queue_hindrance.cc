#include "operator/controller/queue_hindrance.h"

#include <fmt/format.h>

#include "operator/api/job_queue.h"
#include "operator/api/names.h"

namespace caravan::controller {

std::optional<QueueHindrance> hindrance_of_cluster(const QueueView& queue) {
  if (queue.api == QueueView::Api::kAbsent)
    return QueueHindrance{
        reasons::kKueueMissing,
        "this cluster does not serve kueue.x-k8s.io/v1beta2, and the job asks for Kueue; install Kueue "
        "0.15 or later, or remove spec.scheduling.gang.provider or the label kueue.x-k8s.io/queue-name "
        "from the job while it is suspended"};
  if (queue.api == QueueView::Api::kRefused)
    return QueueHindrance{
        reasons::kKueueMissing,
        "this operator may not list the workloads, resourceflavors and workloadpriorityclasses of "
        "kueue.x-k8s.io, or the priorityclasses; have it installed with queues.rights=true, or ask an "
        "administrator for the rights that docs/user/install.md names under \"For one namespace\""};
  if (queue.api == QueueView::Api::kUnknown && !queue.trouble.empty())
    return QueueHindrance{
        reasons::kKueueMissing,
        fmt::format("the queue cannot be asked: {}; it is asked again every half minute", queue.trouble)};
  return std::nullopt;
}

std::optional<QueueHindrance> hindrance_of_job(const Job& job, const QueueView& queue) {
  if (queue_of(job).empty())
    return QueueHindrance{
        reasons::kQueueMissing,
        "the job asks for Kueue and names no queue; suspend it and set spec.scheduling.queue "
        "to a LocalQueue of its namespace, or give it the label kueue.x-k8s.io/queue-name"};
  if (!queue.missing_priority.empty())
    return QueueHindrance{reasons::kPriorityClassMissing,
                          queue.missing_priority + " is not there; create it, or correct the job"};
  return std::nullopt;
}

}  // namespace caravan::controller
