// Names of the API's resources: namespaces/NAMESPACE, and namespaces/NAMESPACE/jobs/JOB.
//
// Only what Kubernetes takes for a name passes, so that none leads to another path of the API server. Pure.
#pragma once

#include <string>
#include <string_view>

#include "kube/api/object.h"
#include "service/answer/fault.h"

namespace caravan::service {

// field: of the request, for the error.
Answer<std::string> namespace_of(std::string_view parent, const std::string& field = "parent");
// The same, or namespaces/- for all, which is the empty one.
Answer<std::string> namespace_or_all_of(std::string_view parent);
Answer<kube::ObjectKey> job_key_of(std::string_view name, const std::string& field = "name");

std::string name_of(const kube::ObjectKey& job);

}  // namespace caravan::service
