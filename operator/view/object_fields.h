// Conditions and containers of Kubernetes objects. What is absent reads as nothing.
#pragma once

#include <string_view>

#include "kube/api/json.h"

namespace caravan::controller {

// Null where there is none.
const kube::Json* condition_of(const kube::Json& object, std::string_view type);
bool has_condition(const kube::Json& object, std::string_view type, std::string_view status);

// Of a pod's own container: webhooks may put others beside it. Null before it is known.
const kube::Json* status_of_worker(const kube::Json& pod);
// A pod's condition Ready that the cluster took away, since it hears nothing of the pod's machine. Null while
// it hears of it.
const kube::Json* silence_of(const kube::Json& pod);

}  // namespace caravan::controller
