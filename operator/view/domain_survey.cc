#include "operator/view/domain_survey.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "operator/api/device_labels.h"
#include "operator/view/node_match.h"
#include "operator/view/worker_devices.h"

namespace caravan::controller {
namespace {

// Of a machine, which no job comes near: kubelets take some hundreds at most.
constexpr std::int64_t kMostPods = 4096;

// As pods ask for it (children/pod_nodes.h).
class ProductMatch {
 public:
  ProductMatch(const v1alpha1::JobSpec& spec, const std::string& of_the_plan)
      : label_(labels_of(spec.resources().device().resource_name()).product) {
    if (of_the_plan.empty()) {
      names_ = wanted_products(spec);
    } else if (!spec.worker().node_selector().contains(label_)) {
      product_ = of_the_plan;
    }
  }

  bool operator()(const NodeView& node) const {
    const std::string said = label_of(node, label_);
    if (!product_.empty()) return said == product_;
    return said.empty() || names_.empty() || std::ranges::find(names_, said) != names_.end();
  }

 private:
  const std::string label_;
  std::string product_ = {};
  std::vector<std::string> names_ = {};
};

// On the network of nodes pods have ports in common (children/worker_pod.cc).
int pods_that_fit(const NodeView& node, const v1alpha1::Worker& worker, const Demand& of_a_pod,
                  const Demand& taken) {
  std::int64_t most = of_a_pod.empty() || worker.host_network() ? 1 : kMostPods;
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
  const v1alpha1::Worker& worker = job.spec.worker();
  const ProductMatch has_product(job.spec, wanted.gpu_product);
  std::map<std::string, Domain> by_name;
  for (const NodeView& node : nodes) {
    const auto name = node.labels.find(key);
    if (name == node.labels.end() || !has_product(node) || !matches(node, worker)) continue;
    Domain& domain = by_name[name->second];
    domain.node_labels = {{key, name->second}};
    const bool is_tolerated = wanted.tolerates_all || are_tolerated(node.taints, worker, wanted.of_a_pod);
    if (!node.usable || !is_tolerated) continue;
    const auto others = taken.find(node.name);
    domain.capacity += pods_that_fit(node, worker, wanted.of_a_pod, {});
    domain.room +=
        pods_that_fit(node, worker, wanted.of_a_pod, others == taken.end() ? Demand() : others->second);
  }
  std::vector<Domain> domains;
  domains.reserve(by_name.size());
  for (auto& [name, domain] : by_name) domains.push_back(std::move(domain));
  return domains;
}

int worth_in_pods(const Demand& asked, const Demand& of_a_pod) {
  std::int64_t most = 0;
  for (const auto& [resource, of_one] : of_a_pod) {
    if (of_one <= 0) continue;
    const std::int64_t amount = amount_of(asked, resource);
    most = std::max(most, amount / of_one + (amount % of_one != 0 ? 1 : 0));
  }
  return static_cast<int>(std::min<std::int64_t>(most, std::numeric_limits<int>::max()));
}

}  // namespace caravan::controller
