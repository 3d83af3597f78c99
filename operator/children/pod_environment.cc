#include "operator/children/pod_environment.h"

#include <fmt/format.h>

#include <algorithm>

#include "operator/api/names.h"
#include "operator/children/job_objects.h"

namespace caravan::controller {
namespace {

using kube::Json;
using kube::JsonArray;
using kube::JsonObject;

JsonObject variable(const std::string& name, const std::string& value) {
  return {{"name", name}, {"value", value}};
}

JsonObject key_of(const v1alpha1::KeyReference& reference) {
  return {{"name", reference.name()}, {"key", reference.key()}};
}

JsonObject variable(const v1alpha1::EnvironmentVariable& given) {
  if (given.has_secret_key())
    return {{"name", given.name()}, {"valueFrom", JsonObject{{"secretKeyRef", key_of(given.secret_key())}}}};
  if (given.has_config_map_key())
    return {{"name", given.name()},
            {"valueFrom", JsonObject{{"configMapKeyRef", key_of(given.config_map_key())}}}};
  return variable(given.name(), given.value());
}

JsonObject field_variable(const std::string& name, const std::string& path) {
  return {{"name", name},
          {"valueFrom", JsonObject{{"fieldRef", JsonObject{{"apiVersion", "v1"}, {"fieldPath", path}}}}}};
}

}  // namespace

// Ours come first and win: a user's variable of the same name is left out.
JsonArray pod_environment(const Job& job, int node) {
  JsonArray all{
      variable("CARAVAN_IN_POD", "1"),
      field_variable("CARAVAN_POD_IP", "status.podIP"),
      field_variable("CARAVAN_POD_UID", "metadata.uid"),
      variable("CARAVAN_JOB_UID", job.uid),
      variable("CARAVAN_NODE_INDEX", std::to_string(node)),
      variable("CARAVAN_COORDINATOR", fmt::format("{}:{}", coordinator_host(job), kCoordinatorPort))};
  const auto is_ours = [&](const std::string& name) {
    return std::any_of(all.begin(), all.end(),
                       [&](const Json& v) { return kube::text_at(v, {"name"}) == name; });
  };
  for (const v1alpha1::EnvironmentVariable& given : job.spec.worker().env()) {
    if (!is_ours(given.name())) all.push_back(variable(given));
  }
  return all;
}

}  // namespace caravan::controller
