#include "operator/children/pod_storage.h"

#include <algorithm>

#include "operator/api/names.h"
#include "operator/children/certificates.h"
#include "operator/children/job_objects.h"

namespace caravan::controller {
namespace {

using kube::Json;
using kube::JsonArray;
using kube::JsonObject;

constexpr int kReadable = 0444;  // within the pod, whose only user may not be in the volumes' group
constexpr int kTokenSeconds = 3600;

JsonObject mount(const std::string& name, const std::string& path, bool read_only) {
  return {{"name", name}, {"mountPath", path}, {"readOnly", read_only}};
}

JsonObject claim(const std::string& name, const std::string& claim_name, bool read_only) {
  return {{"name", name},
          {"persistentVolumeClaim", JsonObject{{"claimName", claim_name}, {"readOnly", read_only}}}};
}

JsonObject token_volume() {
  const JsonObject token{
      {"audience", kReportAudience}, {"expirationSeconds", kTokenSeconds}, {"path", "token"}};
  return {{"name", "reports-token"},
          {"projected", JsonObject{{"defaultMode", kReadable},
                                   {"sources", JsonArray{JsonObject{{"serviceAccountToken", token}}}}}}};
}

void add(JsonObject volume, const char* path, bool read_only, PodStorage& all) {
  all.mounts.push_back(mount(volume["name"].as_string().c_str(), path, read_only));
  all.volumes.push_back(std::move(volume));
}

struct ClaimUse {
  std::string name;  // of the volume
  std::string claim;
  std::string path;
  bool read_only;
};

std::vector<ClaimUse> claim_uses(const v1alpha1::JobSpec& spec) {
  std::vector<ClaimUse> uses{{"data", spec.data().claim_name(), kDataFolder, true},
                             {"weights", spec.model().init_from().claim_name(), kWeightsFolder, true},
                             {"checkpoints", spec.checkpoint().claim_name(), kCheckpointFolder, false}};
  std::erase_if(uses, [](const ClaimUse& use) { return use.claim.empty(); });
  for (const v1alpha1::ExtraVolume& further : spec.worker().volumes())
    uses.push_back({"volume-" + further.name(), further.claim_name(), further.mount_path(), true});
  return uses;
}

// One volume for each claim, however many folders show it: of two volumes of one claim some kubelets wait
// for the second for ever (kubernetes issue 82526).
void add_claims(const std::vector<ClaimUse>& uses, PodStorage& all) {
  for (const ClaimUse& use : uses) {
    const auto is_same = [&](const ClaimUse& other) { return other.claim == use.claim; };
    const ClaimUse& first = *std::ranges::find_if(uses, is_same);
    all.mounts.push_back(mount(first.name, use.path, use.read_only));
    if (&first != &use) continue;
    const bool is_written =
        std::ranges::any_of(uses, [&](const ClaimUse& other) { return is_same(other) && !other.read_only; });
    all.volumes.push_back(claim(use.name, use.claim, !is_written));
  }
}

}  // namespace

PodStorage pod_storage(const Job& job, const v1alpha1::Worker& worker, const PodRequest& request,
                       bool reports) {
  PodStorage all;
  const std::string plan = plan_name(job, request.first_attempt_of_plan);
  add({{"name", "plan"}, {"configMap", JsonObject{{"name", plan}, {"defaultMode", kReadable}}}}, kPlanFolder,
      true, all);
  add({{"name", "tls"}, {"secret", certificate_volume(job, request.certificates, request.node)}}, kTlsFolder,
      true, all);
  add({{"name", "shared-memory"},
       {"emptyDir", JsonObject{{"medium", "Memory"}, {"sizeLimit", worker.shared_memory()}}}},
      "/dev/shm", false, all);
  add({{"name", "work"}, {"emptyDir", JsonObject{{"sizeLimit", worker.scratch()}}}}, "/tmp", false, all);
  if (reports) add(token_volume(), kTokenFolder, true, all);
  add_claims(claim_uses(job.spec), all);
  return all;
}

}  // namespace caravan::controller
