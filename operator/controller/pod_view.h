// Pods and nodes as decisions see them, read from the API server's objects. Absent or strange fields read as
// nothing.
#pragma once

#include "operator/controller/snapshot.h"

namespace caravan::controller {

PodView read_pod(const kube::Json& object);
NodeView read_node(const kube::Json& object);
// What a pod asks of its machine.
Demand read_demand(const kube::Json& pod);

}  // namespace caravan::controller
