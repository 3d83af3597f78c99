#include "operator/controller/observe.h"

#include <algorithm>

#include "operator/api/conditions.h"
#include "operator/api/job_conditions.h"
#include "operator/api/job_queue.h"
#include "operator/api/names.h"
#include "operator/children/content_note.h"
#include "operator/children/job_objects.h"
#include "operator/children/plan_object.h"
#include "operator/controller/domain_policy.h"
#include "operator/controller/plan_record.h"
#include "operator/controller/queue_grant.h"
#include "operator/view/node_view.h"
#include "operator/view/pod_view.h"

namespace caravan::controller {
namespace {

// The child of that name, when it is this job's and not one of an earlier job of the same name.
kube::ObjectPtr own_child(const kube::Store& store, const Job& job, const std::string& name) {
  kube::ObjectPtr found = store.get({job.key.name_space, name});
  if (found && found->controller_uid() == job.uid && !found->is_being_deleted()) return found;
  return nullptr;
}

std::optional<WorkloadPriority> find_priority(const kube::Store& store, const std::string& name,
                                              const char* group, const char* kind) {
  const kube::ObjectPtr found = store.get({"", name});
  if (!found) return std::nullopt;
  return WorkloadPriority{.group = group,
                          .kind = kind,
                          .name = name,
                          .value = kube::integer_at(found->parse(), {"value"}).value_or(0)};
}

// By a label, as for every job that Kueue queues, or the priority of its pods.
void observe_priority(const QueueCaches& caches, const Job& job, QueueView& queue) {
  const auto label = job.labels.find(labels::kQueuePriority);
  const std::string& of_pods = job.spec.worker().priority_class_name();
  if (label != job.labels.end()) {
    queue.priority =
        find_priority(caches.workload_priorities, label->second, kKueueGroup, "WorkloadPriorityClass");
    if (!queue.priority) queue.missing_priority = "workloadpriorityclass " + label->second;
  } else if (!of_pods.empty()) {
    queue.priority =
        find_priority(caches.pod_priorities, of_pods, kPriorityClasses.group.c_str(), "PriorityClass");
    if (!queue.priority) queue.missing_priority = "priorityclass " + of_pods;
  }
}

QueueView observe_queue(const QueueCaches& caches, const Job& job) {
  QueueView queue{.api = caches.api(), .trouble = caches.trouble()};
  if (queue.api != QueueView::Api::kServed) return queue;
  observe_priority(caches, job, queue);
  const kube::ObjectPtr workload = caches.workloads.get({job.key.name_space, workload_name(job)});
  if (!workload || workload->controller_uid() != job.uid) return queue;
  queue.workload = read_workload(workload->parse());
  for (const std::string& name : queue.workload->flavors) {
    const kube::ObjectPtr flavor = caches.flavors.get({"", name});
    if (flavor) queue.flavors[name] = read_flavor(flavor->parse());
  }
  return queue;
}

std::map<std::string, std::string> domains_of_machines(const kube::Store& nodes, const Snapshot& snapshot) {
  const v1alpha1::Topology& topology = snapshot.job.spec.scheduling().topology();
  std::map<std::string, std::string> domains;
  if (topology.mode() != v1alpha1::Topology::Preferred) return domains;
  for (const PodView& pod : snapshot.pods) {
    const kube::ObjectPtr node = pod.bound() ? nodes.get({"", pod.machine}) : nullptr;
    if (node) domains[pod.machine] = kube::text_at(node->parse(), {"metadata", "labels", topology.key()});
  }
  return domains;
}

}  // namespace

std::optional<Snapshot> observe(const Caches& caches, const DomainClaims& claims, JobReader& reader,
                                const kube::ObjectKey& key) {
  const kube::ObjectPtr object = caches.jobs.get(key);
  if (!object) return std::nullopt;
  Snapshot snapshot{.job = reader.read(object->parse())};
  const Job& job = snapshot.job;
  for (const kube::ObjectPtr& pod : caches.pods.owned_by(key.name_space, job.uid))
    snapshot.pods.push_back(read_pod(pod->parse()));
  std::sort(snapshot.pods.begin(), snapshot.pods.end(), [](const PodView& a, const PodView& b) {
    return std::tie(a.node, a.attempt, a.name) < std::tie(b.node, b.attempt, b.name);
  });
  if (const kube::ObjectPtr cached = own_child(caches.config_maps, job, plan_name(job))) {
    const kube::Json plan = cached->parse();
    snapshot.plan = {.uid = kube::uid_of(plan),
                     .fingerprint = fingerprint_of(plan),
                     .written = kube::text_at(plan, {"metadata", "annotations", annotations::kContent})};
  }
  snapshot.has_service = own_child(caches.services, job, key.name) != nullptr;
  snapshot.has_account = own_child(caches.accounts, job, key.name) != nullptr;
  if (const kube::ObjectPtr cached = own_child(caches.network_policies, job, key.name)) {
    const kube::Json policy = cached->parse();
    snapshot.network_policy = {.uid = kube::uid_of(policy), .written = noted_content(policy)};
  }
  const bool is_queued = gang_provider(job) == v1alpha1::Gang::Kueue || !job.status.gang().workload().empty();
  if (caches.queue != nullptr && is_queued) snapshot.queue = observe_queue(*caches.queue, job);
  snapshot.domain_of_machine = domains_of_machines(caches.nodes, snapshot);
  const bool chooses = needs_domains(snapshot);
  if (chooses) observe_room(caches, claims, snapshot);
  // Only planning, domains, and racks of hosts that a queue names read nodes.
  const bool is_planned = remembers_plan(job.status) && !is_planned_anew(job);
  if ((is_planned || is_finished(job.status)) && !chooses && !needs_racks(snapshot)) return snapshot;
  snapshot.nodes = caches.node_reader.read(caches.nodes);
  return snapshot;
}

void observe_room(const Caches& caches, const DomainClaims& claims, Snapshot& snapshot) {
  const Job& job = snapshot.job;
  const DomainClaims::OfOthers claimed = claims.of_others(job.uid);
  TakenRoom::Sums taken = caches.taken.sums(caches.pods.owned_by(job.key.name_space, job.uid));
  snapshot.taken = std::move(taken.by_machine);
  snapshot.asked_of_domains = std::move(taken.by_domain);
  for (const auto& [domain, asked] : claimed.asked) add_demand(asked, snapshot.asked_of_domains[domain]);
  snapshot.domain_claims = claimed.claims;
}

}  // namespace caravan::controller
