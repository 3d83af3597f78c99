// What pods of jobs ask of the machines that they are bound to, kept as pods change: there may be too many of
// them to read them all for every job that asks. Safe for any thread.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "kube/watch/store.h"
#include "operator/view/node_view.h"

namespace caravan::controller {

class TakenRoom {
 public:
  // Every one of a store of pods, in its order.
  void change(const kube::Change& pod);
  // By machine, of pods that have not ended; `but` are pods of that store that do not count. The store may be
  // ahead of change() for a moment, and the answer too small by what such a pod asks.
  std::map<std::string, Demand> by_machine(const std::vector<kube::ObjectPtr>& but = {}) const;

 private:
  struct Load {
    void add(const Demand& demand);
    void take_away(const Demand& demand);

    std::size_t pods = 0;
    std::map<std::string, unsigned __int128> asked = {};  // by resource; exact, whatever pods ask for
  };

  mutable std::mutex mutex_;
  std::map<std::string, Load> machines_;  // none without pods
};

}  // namespace caravan::controller
