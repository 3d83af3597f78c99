#include "worker/trainer/optim/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace caravan::trainer {

double learning_rate_at(const LearningRateSchedule& schedule, int step) {
  if (step <= schedule.warmup_steps) return schedule.peak * step / schedule.warmup_steps;
  if (schedule.shape == DecayShape::Constant) return schedule.peak;
  const int decay_steps = std::max(1, schedule.steps - schedule.warmup_steps);
  const double progress = std::min(1.0, static_cast<double>(step - schedule.warmup_steps) / decay_steps);
  const double left =
      schedule.shape == DecayShape::Linear ? 1 - progress : 0.5 * (1 + std::cos(std::numbers::pi * progress));
  return schedule.minimum + (schedule.peak - schedule.minimum) * left;
}

}  // namespace caravan::trainer
