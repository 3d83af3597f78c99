#include "operator/view/domain_survey.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "operator/api/device_labels.h"
#include "operator/view/node_match.h"

namespace caravan::controller {
namespace {

bool may_run_on(const NodeView& node, const Job& job, const std::string& product) {
  const std::string key = labels_of(job.spec.resources().device().resource_name()).product;
  const bool selects_product =
      job.spec.worker().node_selector().contains(key) || product.empty() || label_of(node, key) == product;
  return selects_product && is_wanted(node, job.spec.worker());
}

int pods_that_fit(const NodeView& node, const Demand& of_a_pod, const Demand& taken) {
  std::int64_t most = of_a_pod.empty() ? 1 : std::numeric_limits<int>::max();
  for (const auto& [resource, asked] : of_a_pod) {
    if (asked <= 0) continue;
    const std::int64_t free = amount_of(node.allocatable, resource) - amount_of(taken, resource);
    most = std::min(most, std::max<std::int64_t>(free, 0) / asked);
  }
  return static_cast<int>(most);
}

}  // namespace

std::vector<Domain> survey_domains(const Job& job, const WantedRoom& wanted,
                                   const std::vector<NodeView>& nodes,
                                   const std::map<std::string, Demand>& taken) {
  const std::string& key = job.spec.scheduling().topology().key();
  std::map<std::string, Domain> by_name;
  for (const NodeView& node : nodes) {
    const auto name = node.labels.find(key);
    if (name == node.labels.end() || !may_run_on(node, job, wanted.gpu_product)) continue;
    Domain& domain = by_name[name->second];
    domain.node_labels = {{key, name->second}};
    const auto others = taken.find(node.name);
    domain.capacity += pods_that_fit(node, wanted.of_a_pod, {});
    domain.room += pods_that_fit(node, wanted.of_a_pod, others == taken.end() ? Demand() : others->second);
  }
  std::vector<Domain> domains;
  domains.reserve(by_name.size());
  for (auto& [name, domain] : by_name) domains.push_back(std::move(domain));
  return domains;
}

}  // namespace caravan::controller
