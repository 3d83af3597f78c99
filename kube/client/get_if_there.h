// An object that may not be there, for whoever has one use for every other failure.
#pragma once

#include "common/result.h"
#include "kube/client/client.h"

namespace caravan::kube {

// Null when it is not there.
inline Result<Json> get_if_there(Client& client, const CallContext& context, const ResourcePath& path,
                                 const std::string& name) {
  auto object = client.get(context, path, name);
  if (object) return std::move(*object);
  if (object.error().is_not_found()) return Json();
  return failure(object.error().message);
}

}  // namespace caravan::kube
