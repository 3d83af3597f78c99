// What of the nodes is free, for whoever asks. Looked at anew twice a minute at most, and by one caller at a
// time, since that reads every node; meanwhile the others get what was there before. Safe for any
// thread.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "caravan/v1alpha1/capacity.pb.h"
#include "common/clock.h"
#include "kube/watch/store.h"
#include "operator/controller/taken_room.h"

namespace caravan::controller {

class PoolBoard {
 public:
  using Pools = std::vector<v1alpha1::NodePool>;

  static constexpr std::chrono::seconds kStands{30};

  // is_filled: whether all nodes and pods are known. All outlive it.
  PoolBoard(const kube::Store& nodes, const TakenRoom& taken, Clock& clock, std::function<bool()> is_filled)
      : nodes_(nodes), taken_(taken), clock_(clock), is_filled_(std::move(is_filled)) {}

  // Nothing before they are known, or while they are looked at for the first time.
  std::optional<Pools> pools();

 private:
  Pools look() const;

  const kube::Store& nodes_;
  const TakenRoom& taken_;
  Clock& clock_;
  const std::function<bool()> is_filled_;
  std::mutex mutex_;
  bool is_looked_at_ = false;
  std::optional<Pools> pools_;
  Clock::TimePoint until_ = Clock::TimePoint::min();
};

}  // namespace caravan::controller
