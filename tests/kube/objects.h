// Objects, lists and events as the API server writes them.
#pragma once

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <string>
#include <vector>

#include "kube/api/json.h"

namespace caravan::kube::testing {

inline Json pod(const std::string& name, const std::string& uid, const std::string& version,
                const std::string& owner_uid = "job") {
  return JsonObject{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata",
       JsonObject{{"namespace", "s"},
                  {"name", name},
                  {"uid", uid},
                  {"resourceVersion", version},
                  {"ownerReferences", JsonArray{JsonObject{{"uid", owner_uid}, {"controller", true}}}}}}};
}

inline std::string list_of(const std::vector<Json>& items, const std::string& version,
                           const std::string& token = "") {
  return boost::json::serialize(
      JsonObject{{"kind", "PodList"},
                 {"metadata", JsonObject{{"resourceVersion", version}, {"continue", token}}},
                 {"items", JsonArray(items.begin(), items.end())}});
}

inline std::string event(const std::string& type, const Json& object) {
  return boost::json::serialize(JsonObject{{"type", type}, {"object", object}}) + "\n";
}

inline std::string bookmark(const std::string& version) {
  return event("BOOKMARK",
               JsonObject{{"kind", "Pod"}, {"metadata", JsonObject{{"resourceVersion", version}}}});
}

inline std::string error_event(int code, const std::string& message) {
  return event("ERROR", JsonObject{{"kind", "Status"}, {"code", code}, {"message", message}});
}

}  // namespace caravan::kube::testing
