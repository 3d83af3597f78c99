#include "operator/view/pod_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "operator/api/names.h"

namespace caravan::controller {
namespace {

struct Advice {
  std::string_view sign;  // in what the cluster says
  std::string_view words;
};

constexpr std::array<std::string_view, 5> kImageReasons{
    "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"};

// The Secret or ConfigMap that a variable comes from, or its key, is not there.
constexpr std::string_view kMissingKey = "CreateContainerConfigError";

// The first one whose sign is found.
constexpr std::array<Advice, 6> kPlacementAdvice{
    Advice{"persistentvolumeclaim",
           "create that claim in the job's namespace (data.claimName, checkpoint.claimName, "
           "model.initFrom.claimName, worker.volumes)"},
    Advice{"unbound immediate PersistentVolumeClaims",
           "give the claim a volume or a storage class that makes one"},
    Advice{"available persistent volumes", "give the claim a volume or a storage class that makes one"},
    Advice{"Insufficient",
           "free or add machines, or ask for less (worker.resources, which has defaults with GPUs; "
           "worker.extraResources, resources.devicesPerNode)"},
    Advice{"untolerated taint", "add worker.tolerations, or remove the taint"},
    Advice{"node affinity/selector",
           "label machines accordingly, or correct worker.nodeSelector and worker.nodeAffinity"}};

std::string with_advice(std::string text, std::string_view advice) {
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.pop_back();
  return fmt::format("{}; {}", text, advice);
}

}  // namespace

std::string explain_waiting(const std::string& reason, const std::string& message) {
  if (reason.empty() || reason == "ContainerCreating" || reason == "PodInitializing") return "";
  const std::string said = message.empty() ? reason : fmt::format("{}: {}", reason, message);
  if (std::find(kImageReasons.begin(), kImageReasons.end(), reason) != kImageReasons.end()) {
    return with_advice(fmt::format("its image cannot be pulled ({})", said),
                       "see whether the name is right and the machine may pull it (worker.image, "
                       "worker.imagePullSecrets)");
  }
  if (reason == kMissingKey) {
    return with_advice(fmt::format("its container cannot be started ({})", said),
                       "create what is missing in the job's namespace, or correct worker.env");
  }
  return fmt::format("its container cannot be started ({})", said);
}

std::string explain_unschedulable(const std::string& message) {
  const auto advice = std::find_if(kPlacementAdvice.begin(), kPlacementAdvice.end(), [&](const Advice& a) {
    return message.find(a.sign) != std::string::npos;
  });
  return advice == kPlacementAdvice.end() ? message : with_advice(message, advice->words);
}

std::string explain_gates(const std::vector<std::string>& gates) {
  constexpr std::string_view kOfKueue = "kueue.x-k8s.io/admission";
  if (std::ranges::find(gates, kOfKueue) == gates.end())
    return fmt::format("scheduling gates hold it back ({}); whoever has set them removes them",
                       fmt::join(gates, ", "));
  return fmt::format(
      "Kueue's own integration of pods holds it back (scheduling gate {}); in Kueue's configuration, name {} "
      "in integrations.externalFrameworks, let Kueue read llamatrainingjobs, and give the job a queue; or "
      "leave the namespace out of managedJobsNamespaceSelector; then suspend and resume the job",
      kOfKueue, kExternalFramework);
}

}  // namespace caravan::controller
