#include "operator/children/inherited_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "operator/api/names.h"

namespace caravan::controller {
namespace {

// Of Kubernetes, which takes orders by them, and its special interest groups, whose Kueue would take such a
// pod for one to queue by itself; of the programs that made the job; and ours.
constexpr std::array<std::string_view, 6> kForeign{".kubernetes.io", ".k8s.io",      ".x-k8s.io",
                                                   ".helm.sh",       ".argoproj.io", ".training.caravan.dev"};
// But these, which say what something belongs to.
constexpr std::string_view kRecommended = "app.kubernetes.io/";
constexpr std::array<const char*, 5> kOurs{labels::kName, labels::kInstance, labels::kComponent,
                                           labels::kManagedBy, annotations::kVolcanoGroup};

bool is_foreign(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == name.npos || name.starts_with(kRecommended)) return false;
  const std::string domain = fmt::format(".{}", name.substr(0, slash));
  return std::ranges::any_of(kForeign, [&](std::string_view one) { return domain.ends_with(one); });
}

// "hash" is what the caches keep of the rest.
bool is_inherited(std::string_view name) {
  return !is_foreign(name) && std::ranges::find(kOurs, name) == kOurs.end() && name != "hash";
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
