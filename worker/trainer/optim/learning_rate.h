// The learning rate by step: linear warm-up to the peak, then a decay that reaches the minimum at the last
// step.
#pragma once

#include <algorithm>

namespace caravan::trainer {

enum class DecayShape { Cosine, Linear, Constant };

struct LearningRateSchedule {
  double peak = 3e-4;
  double minimum = 3e-5;
  int warmup_steps = 0;
  bool warmup_is_given = true;  // else it follows from the steps
  int steps = 1;
  DecayShape shape = DecayShape::Cosine;
};

// Of a job that does not say how long it warms up.
constexpr int default_warmup_steps(int steps) {
  return std::min(2000, steps / 10);
}

// step: from 1. Warm-up step w of n has w/n of the peak; Constant stays at the peak.
double learning_rate_at(const LearningRateSchedule& schedule, int step);

}  // namespace caravan::trainer
