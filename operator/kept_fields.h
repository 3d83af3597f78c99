// What the operator's caches keep of each object, so that the memory that they take is bounded by what there
// is to do, not by what others write: statuses of the kubelet, annotations, or objects that merely carry our
// label. Pure. Nothing: the object is not kept at all.
//
// Whoever reads a further field of a pod or node (view/pod_view.h) has to keep it here.
#pragma once

#include <optional>

#include "kube/api/json.h"

namespace caravan::controller {

// Spec and status whole; labels, annotations and finalizers as one value that changes when they do, beside
// what children inherit of them, what chooses a queue, and the annotations that ask for a checkpoint or
// cancel it.
std::optional<kube::Json> kept_of_job(const kube::Json& job);
// Children count when a job is their controller.
std::optional<kube::Json> kept_of_pod(const kube::Json& pod);
// Of a ConfigMap, the fingerprint of its content.
std::optional<kube::Json> kept_of_plan(const kube::Json& config_map);
// Of all others, whose they are.
std::optional<kube::Json> kept_of_child(const kube::Json& child);
// And what it was written with.
std::optional<kube::Json> kept_of_network_policy(const kube::Json& policy);
// What Kueue says of a job, and what of it may differ from what the job asks for now.
std::optional<kube::Json> kept_of_workload(const kube::Json& workload);
std::optional<kube::Json> kept_of_flavor(const kube::Json& flavor);
std::optional<kube::Json> kept_of_priority_class(const kube::Json& priority_class);
std::optional<kube::Json> kept_of_node(const kube::Json& node);

}  // namespace caravan::controller
