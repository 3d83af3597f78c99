// Conditions of Kubernetes objects. What is absent reads as nothing.
#pragma once

#include <string_view>

#include "kube/api/json.h"

namespace caravan::controller {

// Null where there is none.
const kube::Json* condition_of(const kube::Json& object, std::string_view type);
bool has_condition(const kube::Json& object, std::string_view type, std::string_view status);

}  // namespace caravan::controller
