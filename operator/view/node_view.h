// A node of the cluster as decisions see it, and what a pod asks of one, read from the API server's objects.
// Absent or strange fields read as nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kube/api/json.h"

namespace caravan::controller {

using Demand = std::map<std::string, std::int64_t>;  // by resource; cpu in thousandths, others in units

struct Taint {
  std::string key = {};
  std::string value = {};
  std::string effect = {};

  bool operator==(const Taint&) const = default;
};

struct NodeView {
  std::string name = {};
  std::map<std::string, std::string> labels = {};
  Demand allocatable = {};         // rounded down
  std::vector<Taint> taints = {};  // those that keep pods off
  bool usable = true;              // ready and open for new pods

  bool operator==(const NodeView&) const = default;
};

// Those of the whole cluster, of which there may be thousands: read once, and never changed.
using SharedNodes = std::shared_ptr<const std::vector<NodeView>>;

NodeView read_node(const kube::Json& object);
// 0: none.
std::int64_t amount_of(const Demand& demand, const std::string& resource);
// What a pod asks of its machine, rounded up. Sums end at the largest number: whoever makes pods may ask for
// whatever he likes.
Demand read_demand(const kube::Json& pod);
void add_demand(const Demand& more, Demand& to);

}  // namespace caravan::controller
