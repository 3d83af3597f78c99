#include "operator/children/pod_group.h"

#include "operator/api/job_queue.h"
#include "operator/api/names.h"
#include "operator/children/job_objects.h"

namespace caravan::controller {
namespace {

using kube::JsonObject;

kube::Json pod_group(const Job& job, const kube::Resource& resource, JsonObject spec) {
  return JsonObject{{"apiVersion", resource.group + "/" + resource.version},
                    {"kind", "PodGroup"},
                    {"metadata", child_metadata(job, job.key.name)},
                    {"spec", std::move(spec)}};
}

bool is_volcano(const Job& job) {
  return gang_provider(job) == v1alpha1::Gang::Volcano;
}

}  // namespace

PodGroup pod_group_intent(const Job& job, const v1alpha1::JobPlan& plan) {
  JsonObject spec{{"minMember", plan.nodes()}};
  if (!is_volcano(job)) {
    spec["scheduleTimeoutSeconds"] = gang_timeout(job).count();
    return {kCoschedulingPodGroups, pod_group(job, kCoschedulingPodGroups, std::move(spec))};
  }
  // Without one it is Volcano's choice, by the namespace.
  if (const std::string queue = queue_of(job); !queue.empty()) spec["queue"] = queue;
  // Always: what is left out would keep what the job had before it was suspended.
  spec["priorityClassName"] = job.spec.worker().priority_class_name();
  return {kVolcanoPodGroups, pod_group(job, kVolcanoPodGroups, std::move(spec))};
}

void join_pod_group(const Job& job, PodPlacement& placement) {
  placement.scheduler_name = is_volcano(job) ? kVolcanoScheduler : kCoschedulingScheduler;
  if (is_volcano(job)) {
    placement.annotations[annotations::kVolcanoGroup] = job.key.name;
  } else {
    placement.labels[labels::kCoschedulingGroup] = job.key.name;
  }
}

}  // namespace caravan::controller
