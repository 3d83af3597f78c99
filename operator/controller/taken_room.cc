#include "operator/controller/taken_room.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "operator/view/pod_view.h"

namespace caravan::controller {
namespace {

// Where sums end as they are told: whoever makes pods may ask for whatever he likes.
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

struct Taken {
  std::string machine;
  Demand asked;
};

// Nothing of a pod that has no machine yet, or no longer needs it.
std::optional<Taken> taken_by(const kube::ObjectPtr& pod) {
  if (!pod) return std::nullopt;
  const kube::Json object = pod->parse();
  PodView view = read_pod(object);
  if (!view.bound() || view.is_over()) return std::nullopt;
  return Taken{std::move(view.machine), read_demand(object)};
}

}  // namespace

void TakenRoom::Load::add(const Demand& demand) {
  ++pods;
  for (const auto& [resource, amount] : demand) asked[resource] += static_cast<unsigned __int128>(amount);
}

void TakenRoom::Load::take_away(const Demand& demand) {
  if (pods > 0) --pods;
  for (const auto& [resource, amount] : demand) {
    const auto sum = asked.find(resource);
    if (sum == asked.end()) continue;
    sum->second -= std::min(sum->second, static_cast<unsigned __int128>(amount));
    if (sum->second == 0) asked.erase(sum);
  }
}

void TakenRoom::change(const kube::Change& pod) {
  const auto before = taken_by(pod.before);
  const auto after = taken_by(pod.after);
  const std::scoped_lock lock(mutex_);
  if (after) machines_[after->machine].add(after->asked);
  if (!before) return;
  const auto load = machines_.find(before->machine);
  load->second.take_away(before->asked);
  if (load->second.pods == 0) machines_.erase(load);
}

std::map<std::string, Demand> TakenRoom::by_machine(const std::vector<kube::ObjectPtr>& but) const {
  std::map<std::string, Load> machines;
  {
    const std::scoped_lock lock(mutex_);
    machines = machines_;
  }
  for (const kube::ObjectPtr& pod : but) {
    const auto taken = taken_by(pod);
    const auto load = taken ? machines.find(taken->machine) : machines.end();
    if (load != machines.end()) load->second.take_away(taken->asked);
  }
  std::map<std::string, Demand> by_machine;
  for (const auto& [machine, load] : machines) {
    Demand& demand = by_machine[machine];
    for (const auto& [resource, sum] : load.asked)
      demand[resource] = static_cast<std::int64_t>(std::min<unsigned __int128>(sum, kMost));
  }
  return by_machine;
}

}  // namespace caravan::controller
