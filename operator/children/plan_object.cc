#include "operator/children/plan_object.h"

#include <fmt/format.h>

#include "operator/api/names.h"
#include "operator/children/content_note.h"
#include "operator/children/job_objects.h"

namespace caravan::controller {
namespace {

using kube::Json;
using kube::JsonObject;

constexpr const char* kFingerprint = "fingerprint";  // a field that the API server knows in no ConfigMap

}  // namespace

Json plan_intent(const Job& job, const std::string& plan, const Settings& settings) {
  Json intent =
      JsonObject{{"apiVersion", "v1"},
                 {"kind", "ConfigMap"},
                 {"metadata", child_metadata(job, plan_name(job))},
                 {"data", JsonObject{{kPlanKey, plan}, {kReportsAuthorityKey, settings.reports_authority}}}};
  note_content(fingerprint_of(intent), intent);
  return intent;
}

std::string fingerprint_of(const Json& config_map) {
  if (const Json* kept = kube::find(config_map, {kFingerprint}); kept != nullptr && kept->is_string())
    return std::string(kept->get_string());
  std::string content;
  for (const char* key : {kPlanKey, kReportsAuthorityKey}) {
    const std::string value = kube::text_at(config_map, {"data", key});
    content += fmt::format("{} {}\n{}\n", key, value.size(), value);
  }
  return fingerprint_of_text(content);
}

Json trim_plan_object(const Json& config_map) {
  JsonObject metadata;
  for (const char* field :
       {"name", "namespace", "uid", "resourceVersion", "deletionTimestamp", "ownerReferences"}) {
    if (const Json* value = kube::find(config_map, {"metadata", field})) metadata[field] = *value;
  }
  if (const std::string written = noted_content(config_map); !written.empty())
    metadata["annotations"] = JsonObject{{annotations::kContent, written}};
  return JsonObject{{"metadata", std::move(metadata)}, {kFingerprint, fingerprint_of(config_map)}};
}

}  // namespace caravan::controller
