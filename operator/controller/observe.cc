#include "operator/controller/observe.h"

#include <algorithm>

#include "operator/api/names.h"
#include "operator/children/job_objects.h"
#include "operator/children/plan_object.h"
#include "operator/controller/plan_record.h"
#include "operator/controller/pod_view.h"

namespace caravan::controller {
namespace {

// The child of that name, when it is this job's and not one of an earlier job of the same name.
kube::ObjectPtr own_child(const kube::Store& store, const Job& job, const std::string& name) {
  kube::ObjectPtr found = store.get({job.key.name_space, name});
  if (found && found->controller_uid() == job.uid && !found->is_being_deleted()) return found;
  return nullptr;
}

}  // namespace

std::optional<Snapshot> observe(const Caches& caches, JobReader& reader, const kube::ObjectKey& key) {
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
  snapshot.has_network_policy = own_child(caches.network_policies, job, key.name) != nullptr;
  if (remembers_plan(job.status)) return snapshot;  // only planning reads nodes: there may be thousands
  for (const kube::ObjectPtr& node : caches.nodes.all()) snapshot.nodes.push_back(read_node(node->parse()));
  return snapshot;
}

}  // namespace caravan::controller
