// Work that every rank does on its own and all wait for, as to read a checkpoint: that it goes on is told
// while it does, so that it is no hang, and nobody's patience with a collective ends, however long it takes.
//
// All ranks make one at the same time, and end it. Whoever is through meets the others as often as they come
// between two pieces of their work. Throws CommunicationError when a peer is lost.
#pragma once

#include <chrono>
#include <functional>

#include "worker/trainer/comm/communicator.h"

namespace caravan::trainer {

// Between two announcements.
inline constexpr std::chrono::seconds kBetweenMeetings{5};

class JointWork {
 public:
  // announce(again): called on every rank when all have met and some still work. The world outlives it.
  JointWork(Communicator& world, std::function<void(bool)> announce,
            std::chrono::nanoseconds between = kBetweenMeetings);

  // Between two pieces of this rank's part.
  void goes_on();
  // This rank's part has ended. The largest that any rank gives, when all have ended.
  int end(int own);

 private:
  using Clock = std::chrono::steady_clock;

  struct Met {
    bool all_have_ended = true;
    int largest = 0;
  };
  Met meet(bool works, int own);

  Communicator& world_;
  const std::function<void(bool)> announce_;
  bool is_announced_ = false;
  const std::chrono::nanoseconds between_;
  Clock::time_point met_ = Clock::now();
};

}  // namespace caravan::trainer
