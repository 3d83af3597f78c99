#include "kube/api/finalizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "kube/api/object.h"

namespace caravan::kube {
namespace {

constexpr const char* kList = "/metadata/finalizers";

// Null when the object has no list of finalizers; the server keeps no empty ones.
const JsonArray* finalizers_of(const Json& object) {
  const Json* list = find(object, {"metadata", "finalizers"});
  return list == nullptr ? nullptr : list->if_array();
}

std::ptrdiff_t position_of(const JsonArray& finalizers, std::string_view finalizer) {
  const auto found = std::find_if(finalizers.begin(), finalizers.end(),
                                  [&](const Json& entry) { return text_at(entry, {}) == finalizer; });
  return found == finalizers.end() ? -1 : found - finalizers.begin();
}

}  // namespace

std::optional<JsonArray> patch_to_add_finalizer(const Json& object, std::string_view finalizer) {
  if (is_being_deleted(object)) return std::nullopt;
  const std::string name(finalizer);
  const JsonArray* present = finalizers_of(object);
  if (present == nullptr) {
    return JsonArray{JsonObject{{"op", "test"}, {"path", kList}, {"value", nullptr}},
                     JsonObject{{"op", "add"}, {"path", kList}, {"value", JsonArray{name}}}};
  }
  if (position_of(*present, finalizer) >= 0) return std::nullopt;
  return JsonArray{JsonObject{{"op", "test"}, {"path", kList}, {"value", *present}},
                   JsonObject{{"op", "add"}, {"path", fmt::format("{}/-", kList)}, {"value", name}}};
}

std::optional<JsonArray> patch_to_remove_finalizer(const Json& object, std::string_view finalizer) {
  const JsonArray* present = finalizers_of(object);
  const std::ptrdiff_t at = present == nullptr ? -1 : position_of(*present, finalizer);
  if (at < 0) return std::nullopt;
  const std::string path = fmt::format("{}/{}", kList, at);
  return JsonArray{JsonObject{{"op", "test"}, {"path", path}, {"value", std::string(finalizer)}},
                   JsonObject{{"op", "remove"}, {"path", path}}};
}

}  // namespace caravan::kube
