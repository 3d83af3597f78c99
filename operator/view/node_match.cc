#include "operator/view/node_match.h"

#include <algorithm>
#include <charconv>

namespace caravan::controller {
namespace {

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end && !text.empty() ? std::optional(number) : std::nullopt;
}

// As the scheduler does: a label that is absent is not in any list, and neither more nor less than a number.
bool meets(const NodeView& node, const v1alpha1::NodeRequirement& requirement) {
  const auto found = node.labels.find(requirement.key());
  const bool exists = found != node.labels.end();
  const std::string& how = requirement.operator_();
  if (how == "Exists") return exists;
  if (how == "DoesNotExist") return !exists;
  const auto& values = requirement.values();
  const bool is_listed = exists && std::ranges::find(values, found->second) != values.end();
  if (how == "In") return is_listed;
  if (how == "NotIn") return !is_listed;
  if (!exists || values.empty()) return false;
  const auto has = whole_number(found->second);
  const auto bound = whole_number(values[0]);
  return has && bound && (how == "Gt" ? *has > *bound : *has < *bound);
}

// As the scheduler does.
bool tolerates(const v1alpha1::Toleration& toleration, const Taint& taint) {
  if (!toleration.effect().empty() && toleration.effect() != taint.effect) return false;
  if (!toleration.key().empty() && toleration.key() != taint.key) return false;
  return toleration.operator_() == "Exists" || toleration.value() == taint.value;
}

}  // namespace

std::string label_of(const NodeView& node, const std::string& key) {
  const auto found = node.labels.find(key);
  return found == node.labels.end() ? "" : found->second;
}

bool matches(const NodeView& node, const v1alpha1::Worker& worker) {
  return std::ranges::all_of(worker.node_selector(),
                             [&](const auto& wanted) {
                               const auto found = node.labels.find(wanted.first);
                               return found != node.labels.end() && found->second == wanted.second;
                             }) &&
         std::ranges::all_of(worker.node_affinity(),
                             [&](const auto& requirement) { return meets(node, requirement); });
}

bool is_wanted(const NodeView& node, const v1alpha1::Worker& worker) {
  return node.usable && matches(node, worker);
}

bool are_tolerated(const std::vector<Taint>& taints, const v1alpha1::Worker& worker, const Demand& of_a_pod) {
  return std::ranges::all_of(taints, [&](const Taint& taint) {
    return amount_of(of_a_pod, taint.key) > 0 ||
           std::ranges::any_of(worker.tolerations(),
                               [&](const auto& toleration) { return tolerates(toleration, taint); });
  });
}

}  // namespace caravan::controller
