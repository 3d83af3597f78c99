#include "operator/children/inherited_metadata.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "operator/api/names.h"

namespace caravan::controller {
namespace {

// Of Kueue, whose webhook would take such a pod for one to queue by itself; of the programs that made the
// job; and ours. The rules of worker.labels refuse whole domains, since nobody but the job's author writes
// there; on a job itself others write too, and app.kubernetes.io/part-of, say, is meant for its pods.
constexpr std::array<std::string_view, 6> kForeign{"kueue.x-k8s.io/",      "kubectl.kubernetes.io/",
                                                   "meta.helm.sh/",        "training.caravan.dev/",
                                                   "scheduling.x-k8s.io/", "argocd.argoproj.io/"};
constexpr std::array<const char*, 5> kOurs{labels::kName, labels::kInstance, labels::kComponent,
                                           labels::kManagedBy, annotations::kVolcanoGroup};

// "hash" is what the caches keep of the rest.
bool is_inherited(std::string_view name) {
  return std::ranges::none_of(kForeign, [&](std::string_view prefix) { return name.starts_with(prefix); }) &&
         std::ranges::find(kOurs, name) == kOurs.end() && name != "hash";
}

}  // namespace

Texts inherited(const Texts& of_the_job) {
  Texts kept;
  std::size_t bytes = 0;
  for (const auto& [name, value] : of_the_job) {
    const std::size_t size = name.size() + value.size();
    if (!is_inherited(name) || bytes + size > kMostInheritedBytes) continue;
    bytes += size;
    kept[name] = value;
  }
  return kept;
}

}  // namespace caravan::controller
