#include "operator/children/plan_object.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "operator/api/names.h"
#include "operator/children/job_objects.h"

namespace caravan::controller {
namespace {

using kube::Json;
using kube::JsonObject;

constexpr const char* kFingerprint = "fingerprint";  // a field that the API server knows in no ConfigMap

constexpr std::size_t kFingerprintSize = 64;

std::string sha256(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace

Json plan_intent(const Job& job, const std::string& plan, const Settings& settings) {
  Json intent =
      JsonObject{{"apiVersion", "v1"},
                 {"kind", "ConfigMap"},
                 {"metadata", child_metadata(job, plan_name(job))},
                 {"data", JsonObject{{kPlanKey, plan}, {kReportsAuthorityKey, settings.reports_authority}}}};
  Json& noted = intent.as_object()["metadata"].as_object()["annotations"];
  if (!noted.is_object()) noted = JsonObject();
  noted.as_object()[annotations::kContent] = fingerprint_of(intent);
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
  return sha256(content);
}

Json trim_plan_object(const Json& config_map) {
  JsonObject metadata;
  for (const char* field :
       {"name", "namespace", "uid", "resourceVersion", "deletionTimestamp", "ownerReferences"}) {
    if (const Json* value = kube::find(config_map, {"metadata", field})) metadata[field] = *value;
  }
  const std::string written = kube::text_at(config_map, {"metadata", "annotations", annotations::kContent});
  const bool may_be_ours = written.size() == kFingerprintSize;  // others write as much as they please
  if (may_be_ours) metadata["annotations"] = JsonObject{{annotations::kContent, written}};
  return JsonObject{{"metadata", std::move(metadata)}, {kFingerprint, fingerprint_of(config_map)}};
}

}  // namespace caravan::controller
