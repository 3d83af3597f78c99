#include "operator/view/object_fields.h"

#include "operator/api/names.h"

namespace caravan::controller {

using kube::Json;

const Json* condition_of(const Json& object, std::string_view type) {
  return kube::find_condition(kube::array_at(object, {"status", "conditions"}), type);
}

bool has_condition(const Json& object, std::string_view type, std::string_view status) {
  const Json* condition = condition_of(object, type);
  return condition != nullptr && kube::text_at(*condition, {"status"}) == status;
}

const Json* status_of_worker(const Json& pod) {
  for (const Json& container : kube::array_at(pod, {"status", "containerStatuses"})) {
    if (kube::text_at(container, {"name"}) == kWorkerContainer) return &container;
  }
  return nullptr;
}

// A kubelet always says why a pod is not ready; whoever watches the machines gives no reason.
const Json* silence_of(const Json& pod) {
  const Json* ready = condition_of(pod, "Ready");
  const bool is_taken_away = ready != nullptr && kube::text_at(*ready, {"status"}) == "False" &&
                             kube::text_at(*ready, {"reason"}).empty();
  return is_taken_away ? ready : nullptr;
}

}  // namespace caravan::controller
