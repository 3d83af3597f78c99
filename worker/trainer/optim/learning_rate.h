// The learning rate by step: linear warm-up to the peak, then a decay that reaches the minimum at the last
// step.
#pragma once

namespace caravan::trainer {

enum class DecayShape { Cosine, Linear, Constant };

struct LearningRateSchedule {
  double peak = 3e-4;
  double minimum = 3e-5;
  int warmup_steps = 0;
  int steps = 1;
  DecayShape shape = DecayShape::Cosine;
};

// step: from 1. Warm-up step w of n has w/n of the peak; Constant stays at the peak.
double learning_rate_at(const LearningRateSchedule& schedule, int step);

}  // namespace caravan::trainer
