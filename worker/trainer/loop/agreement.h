// What all ranks must know of a step before anybody updates weights: one exchange over the world, added up in
// rank order, so that every rank comes to the same conclusion. And what they must know of a checkpoint.
#pragma once

#include <vector>

#include "worker/trainer/comm/communicator.h"

namespace caravan::trainer {

inline constexpr int kNoStop = 2'147'483'647;

// What one rank contributes; loss and squared norm such that everything counts once.
struct StepShare {
  double loss_sum = 0;
  double squared_gradient_norm = 0;
  int stop_after_step = kNoStop;
};

struct StepVerdict {
  double loss_sum = 0;
  double gradient_norm = 0;
  int stop_after_step = kNoStop;  // the earliest that any rank was told

  bool finite() const;
};

StepVerdict agree(Communicator& world, const StepShare& share);

// The largest that any rank has.
int largest(Communicator& world, int own);

// What the first rank has; the others' are not looked at.
std::vector<int> as_the_first(Communicator& world, const std::vector<int>& own);

}  // namespace caravan::trainer
