#include "operator/controller/taken_room.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "operator/view/pod_view.h"

namespace caravan::controller {
namespace {

// Where sums end as they are told: whoever makes pods may ask for whatever he likes.
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

}  // namespace

std::optional<TakenRoom::Taken> TakenRoom::taken_by(const kube::ObjectPtr& pod) {
  if (!pod) return std::nullopt;
  const kube::Json object = pod->parse();
  PodView view = read_pod(object);
  const bool waits = !view.bound() && view.alive() && !view.gated && !view.domain.empty();
  if (view.bound() ? view.is_over() : !waits) return std::nullopt;
  Place place = view.bound() ? Place(Kind::kMachine, std::move(view.machine))
                             : Place(Kind::kDomain, std::move(view.domain));
  return Taken{std::move(place), read_demand(object)};
}

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
  if (after) loads_[after->place].add(after->asked);
  if (!before) return;
  const auto load = loads_.find(before->place);
  load->second.take_away(before->asked);
  if (load->second.pods == 0) loads_.erase(load);
}

TakenRoom::Sums TakenRoom::sums(const std::vector<kube::ObjectPtr>& but) const {
  std::map<Place, Load> loads;
  {
    const std::scoped_lock lock(mutex_);
    loads = loads_;
  }
  for (const kube::ObjectPtr& pod : but) {
    const auto taken = taken_by(pod);
    const auto load = taken ? loads.find(taken->place) : loads.end();
    if (load != loads.end()) load->second.take_away(taken->asked);
  }
  Sums sums;
  for (const auto& [place, load] : loads) {
    const auto& [kind, name] = place;
    Demand& demand = (kind == Kind::kMachine ? sums.by_machine : sums.by_domain)[name];
    for (const auto& [resource, sum] : load.asked)
      demand[resource] = static_cast<std::int64_t>(std::min<unsigned __int128>(sum, kMost));
  }
  return sums;
}

}  // namespace caravan::controller
