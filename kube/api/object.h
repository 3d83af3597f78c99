// What every Kubernetes object has: its key, identity, version and owner.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "kube/api/json.h"

namespace caravan::kube {

struct ObjectKey {
  std::string name_space;  // empty for objects of the cluster
  std::string name;

  auto operator<=>(const ObjectKey&) const = default;
};

std::string to_string(const ObjectKey& key);

ObjectKey key_of(const Json& object);
std::string uid_of(const Json& object);
std::string version_of(const Json& object);
bool is_being_deleted(const Json& object);

// The reference with controller=true; null when there is none.
const Json* controller_of(const Json& object);
// Empty when there is none.
std::string controller_uid_of(const Json& object);
// Its key, when it is of this kind: how a change of a child becomes work on its owner.
std::optional<ObjectKey> controller_key_of(const Json& object, std::string_view owner_kind);

// The reference that makes `owner` the one controller of a child. `owner` needs apiVersion, kind and
// metadata, and must live in the child's namespace, or the garbage collector deletes the child.
JsonObject controller_reference(const Json& owner);

enum class Ownership { kOurs, kForeign };
// Of an object that was there already under a name of ours: ours only when the UID of its controller says so.
// An object of a deleted owner with the same name is foreign too.
Ownership ownership_of(const Json& existing, const std::string& owner_uid);

// Those are large, and no controller reads them.
Json without_managed_fields(Json object);

}  // namespace caravan::kube
