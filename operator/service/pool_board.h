// What of the nodes is free, for whoever asks: looked at anew twice a minute at most, since that reads every
// node and pod. Safe for any thread.
#pragma once

#include <mutex>
#include <vector>

#include "common/clock.h"
#include "operator/controller/observe.h"
#include "operator/view/node_pools.h"

namespace caravan::controller {

class PoolBoard {
 public:
  static constexpr std::chrono::seconds kStands{30};

  // Both outlive it.
  PoolBoard(const kube::Store& nodes, const kube::Store& pods, Clock& clock)
      : nodes_(nodes), pods_(pods), clock_(clock) {}

  std::vector<v1alpha1::NodePool> pools();

 private:
  const kube::Store& nodes_;
  const kube::Store& pods_;
  Clock& clock_;
  std::mutex mutex_;
  std::vector<v1alpha1::NodePool> pools_;
  Clock::TimePoint until_ = Clock::TimePoint::min();
};

}  // namespace caravan::controller
