#include "operator/api/pod_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "kube/api/names.h"

namespace caravan::controller {
namespace {

bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

bool take_number(std::string_view& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(digits);
  return digits > 0;
}

}  // namespace

std::string pod_name(std::string_view job, int node, int attempt) {
  return fmt::format("{}-{}-a{}", job, node, attempt);
}

bool is_pod_of(std::string_view job, std::string_view pod) {
  if (pod.size() > kube::kLongestName) return false;
  return take(pod, job) && take(pod, "-") && take_number(pod) && take(pod, "-a") && take_number(pod) &&
         pod.empty();
}

}  // namespace caravan::controller
