// How weights are updated; plain numbers, from the job's training.optimizer.
#pragma once

#include <cstdint>

#include "worker/trainer/optim/learning_rate.h"

namespace caravan::trainer {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
  bool bf16_moments = false;  // rounded at random,
  uint64_t seed = 0;          // with random numbers of this seed
};

struct OptimizerOptions {
  AdamWOptions adamw;
  LearningRateSchedule learning_rate;
  double clip_norm = 1;          // gradients are scaled down to this global norm; 0: never
  int max_nonfinite_steps = 10;  // in a row, then training fails
};

}  // namespace caravan::trainer
