#include "operator/controller/pod_trouble.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "operator/api/names.h"

namespace caravan::controller {
namespace {

// A container is usually created within seconds of its pod's binding; after this long users should know.
constexpr std::chrono::seconds kSlowCreation{20};

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

// The cause of a slow creation stands in the pod's events only.
std::string explain_slow_creation(const std::string& pod) {
  return fmt::format(
      "its container is still being created {} s after it got a machine, as when a volume cannot be mounted "
      "or "
      "an image is large; `kubectl describe pod {}` shows why",
      kSlowCreation.count(), pod);
}

bool may_become_slow(const PodView& pod, TimePoint now) {
  return pod.creating_since && now < *pod.creating_since + kSlowCreation;
}

// Empty: nothing holds it up.
std::string trouble_of(const PodView& pod, TimePoint now) {
  if (pod.creating_since && !may_become_slow(pod, now)) return explain_slow_creation(pod.name);
  if (!pod.leaving()) return pod.trouble;
  // Its gang may write a checkpoint first.
  return fmt::format("it is being deleted, and ends by {}: its gang saves first if it can",
                     to_text(*pod.gone_by));
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

PlacementVerdict judge_placement(const Snapshot& snapshot, int nodes, TimePoint now) {
  int bound = 0;
  PlacementVerdict verdict{.trouble = snapshot.trouble};
  for (const PodView& pod : snapshot.pods) {
    const bool is_done = pod.phase == PodPhase::kSucceeded && !pod.gone_by;  // agents do not end all at once
    if (!pod.alive() && !is_done && !pod.leaving()) continue;
    if (pod.bound() && !pod.leaving()) ++bound;
    verdict.gated = verdict.gated || pod.gated;
    const std::string trouble = trouble_of(pod, now);
    if (verdict.trouble.empty() && !trouble.empty())
      verdict.trouble = fmt::format("pod {}: {}", pod.name, trouble);
    if (may_become_slow(pod, now))
      verdict.look_again = sooner(verdict.look_again, until(*pod.creating_since + kSlowCreation, now));
  }
  verdict.all_bound = bound == nodes;
  verdict.message = verdict.all_bound ? fmt::format("all {} pods have a machine", nodes)
                                      : fmt::format("{} of {} pods have a machine", bound, nodes);
  if (!verdict.trouble.empty()) verdict.message += "; " + verdict.trouble;
  return verdict;
}

}  // namespace caravan::controller
