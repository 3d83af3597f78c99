#include "operator/view/object_fields.h"

namespace caravan::controller {

using kube::Json;

const Json* condition_of(const Json& object, std::string_view type) {
  return kube::find_condition(kube::array_at(object, {"status", "conditions"}), type);
}

bool has_condition(const Json& object, std::string_view type, std::string_view status) {
  const Json* condition = condition_of(object, type);
  return condition != nullptr && kube::text_at(*condition, {"status"}) == status;
}

}  // namespace caravan::controller
