#include "kube/api/object.h"

#include <fmt/format.h>

namespace caravan::kube {
std::string to_string(const ObjectKey& key) {
  return key.name_space.empty() ? key.name : fmt::format("{}/{}", key.name_space, key.name);
}

ObjectKey key_of(const Json& object) {
  return {.name_space = text_at(object, {"metadata", "namespace"}),
          .name = text_at(object, {"metadata", "name"})};
}

std::string uid_of(const Json& object) {
  return text_at(object, {"metadata", "uid"});
}

std::string version_of(const Json& object) {
  return text_at(object, {"metadata", "resourceVersion"});
}

bool is_being_deleted(const Json& object) {
  return find(object, {"metadata", "deletionTimestamp"}) != nullptr;
}

const Json* controller_of(const Json& object) {
  for (const Json& owner : array_at(object, {"metadata", "ownerReferences"})) {
    if (flag_at(owner, {"controller"})) return &owner;
  }
  return nullptr;
}

std::string controller_uid_of(const Json& object) {
  const Json* controller = controller_of(object);
  return controller == nullptr ? "" : text_at(*controller, {"uid"});
}

std::optional<ObjectKey> controller_key_of(const Json& object, std::string_view owner_kind) {
  const Json* controller = controller_of(object);
  if (controller == nullptr || text_at(*controller, {"kind"}) != owner_kind) return std::nullopt;
  return ObjectKey{.name_space = key_of(object).name_space, .name = text_at(*controller, {"name"})};
}

JsonObject controller_reference(const Json& owner) {
  return {{"apiVersion", text_at(owner, {"apiVersion"})},
          {"kind", text_at(owner, {"kind"})},
          {"name", text_at(owner, {"metadata", "name"})},
          {"uid", uid_of(owner)},
          {"controller", true},
          {"blockOwnerDeletion", true}};
}

Ownership ownership_of(const Json& existing, const std::string& owner_uid) {
  return !owner_uid.empty() && controller_uid_of(existing) == owner_uid ? Ownership::kOurs
                                                                        : Ownership::kForeign;
}

Json without_managed_fields(Json object) {
  JsonObject* fields = object.if_object();
  Json* metadata = fields == nullptr ? nullptr : fields->if_contains("metadata");
  if (metadata != nullptr && metadata->is_object()) metadata->get_object().erase("managedFields");
  return object;
}

}  // namespace caravan::kube
