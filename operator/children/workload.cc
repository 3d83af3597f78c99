#include "operator/children/workload.h"

#include "operator/api/job_queue.h"
#include "operator/api/names.h"
#include "operator/children/job_objects.h"
#include "operator/children/replica_groups.h"
#include "operator/children/worker_pod.h"

namespace caravan::controller {
namespace {

using kube::Json;
using kube::JsonArray;
using kube::JsonObject;

// What counts against a quota, or decides which machines may take the pod: of the first pod as it will be
// made, since none has more ranks. Variables and mounts stay out: they count for nothing, and a queue refuses
// some of them.
JsonObject pod_template(const Job& job, const v1alpha1::JobPlan& plan, const Settings& settings) {
  const PodRequest request{.node = 0, .product_label = plan.gpu_product()};
  const Json pod = pod_intent(job, plan, request, settings);
  const Json& spec = pod.at("spec");
  JsonObject wanted =
      kube::fields_of(spec, {},
                      {"restartPolicy", "nodeSelector", "affinity", "tolerations", "priorityClassName",
                       "runtimeClassName", "overhead", "resourceClaims"});
  JsonArray containers;
  for (const Json& container : spec.at("containers").as_array())
    containers.push_back(kube::fields_of(container, {}, {"name", "image", "resources"}));
  wanted["containers"] = std::move(containers);
  return {{"spec", std::move(wanted)}};
}

// Nothing where the job asks for no topology. Preferred leaves it to the queue how far apart pods may stand.
std::optional<JsonObject> topology_request(const Job& job, const v1alpha1::JobPlan& plan) {
  const v1alpha1::Topology& topology = job.spec.scheduling().topology();
  JsonObject request{{"podIndexLabel", labels::kTopologyIndex}};
  if (topology.mode() == v1alpha1::Topology::Preferred) {
    request["preferred"] = topology.key();
  } else if (topology.mode() == v1alpha1::Topology::Required) {
    // Without a wish for all pods Kueue (0.15) looks for slices within single nodes, and finds none.
    request["preferred"] = topology.key();
    request["podSetSliceRequiredTopology"] = topology.key();
    request["podSetSliceSize"] = replica_groups(plan).slice_size();
  } else {
    return std::nullopt;
  }
  return request;
}

}  // namespace

std::string workload_name(const Job& job) {
  return "ltj-" + job.key.name;
}

Json workload_intent(const Job& job, const v1alpha1::JobPlan& plan,
                     const std::optional<WorkloadPriority>& priority, const Settings& settings) {
  JsonObject pods{
      {"name", kPodSetName}, {"count", plan.nodes()}, {"template", pod_template(job, plan, settings)}};
  if (auto request = topology_request(job, plan)) pods["topologyRequest"] = *std::move(request);
  JsonObject spec{{"active", true}, {"queueName", queue_of(job)}, {"podSets", JsonArray{std::move(pods)}}};
  if (priority) {
    spec["priorityClassRef"] =
        JsonObject{{"group", priority->group}, {"kind", priority->kind}, {"name", priority->name}};
  }
  // Always: Kueue's visibility server (0.15) answers for no Workload of a queue when one has no priority.
  spec["priority"] = priority ? priority->value : 0;
  JsonObject metadata = child_metadata(job, workload_name(job));
  metadata.at("labels").as_object()[labels::kQueuedJobUid] = job.uid;
  return JsonObject{{"apiVersion", kKueueApiVersion},
                    {"kind", "Workload"},
                    {"metadata", std::move(metadata)},
                    {"spec", std::move(spec)}};
}

}  // namespace caravan::controller
