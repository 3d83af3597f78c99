#include "kube/api/resource_version.h"

namespace caravan::kube {

std::strong_ordering compare_versions(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return left.size() <=> right.size();
  return left.compare(right) <=> 0;
}

}  // namespace caravan::kube
