// What pods of jobs ask of the machines that they are bound to, and of the domains in which they wait for
// one, kept as pods change: there may be too many of them to read them all for every job that asks. Safe for
// any thread.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/watch/store.h"
#include "operator/view/node_view.h"

namespace caravan::controller {

class TakenRoom {
 public:
  struct Sums {
    std::map<std::string, Demand> by_machine = {};  // of pods that have not ended
    std::map<std::string, Demand> by_domain = {};   // of pods that live, as pod_placement.h names domains
  };

  // Every one of a store of pods, in its order.
  void change(const kube::Change& pod);
  // `but` are pods of that store that do not count. The store may be ahead of change() for a moment, and the
  // answer too small by what such a pod asks.
  Sums sums(const std::vector<kube::ObjectPtr>& but = {}) const;
  std::map<std::string, Demand> by_machine(const std::vector<kube::ObjectPtr>& but = {}) const {
    return sums(but).by_machine;
  }

 private:
  enum class Kind { kMachine, kDomain };
  using Place = std::pair<Kind, std::string>;

  struct Taken {
    Place place;
    Demand asked;
  };

  struct Load {
    void add(const Demand& demand);
    void take_away(const Demand& demand);

    std::size_t pods = 0;
    std::map<std::string, unsigned __int128> asked = {};  // by resource; exact, whatever pods ask for
  };

  // Nothing of a pod that waits anywhere, is kept from the scheduler, or no longer needs a machine.
  static std::optional<Taken> taken_by(const kube::ObjectPtr& pod);

  mutable std::mutex mutex_;
  std::map<Place, Load> loads_;  // none without pods
};

}  // namespace caravan::controller
