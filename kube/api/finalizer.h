// JSON patches (RFC 6902) that add and remove a finalizer, for an object whose deletion must wait for us.
//
// Where the garbage collector is enough, an owner reference is better. The server keeps finalizers as a plain
// list and compares nothing, so each patch first tests what was read: after somebody else's change it is
// refused with 422 instead of adding twice or removing another's. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "kube/api/json.h"

namespace caravan::kube {

// Nothing to do when it is there already, or when the object is being deleted: the server would refuse.
std::optional<JsonArray> patch_to_add_finalizer(const Json& object, std::string_view finalizer);
// Nothing to do when it is not there.
std::optional<JsonArray> patch_to_remove_finalizer(const Json& object, std::string_view finalizer);

}  // namespace caravan::kube
