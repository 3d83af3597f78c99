#include "worker/trainer/loop/checkpoint_terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "checkpoint/hugging_face/tensors.h"
#include "common/utf8.h"

namespace caravan::trainer {

checkpoint::TrainingTerms terms_of(const TrainerOptions& options) {
  return {.seed = options.data.seed,
          .sequence_length = options.data.sequence_length,
          .global_batch_sequences = options.data.global_batch_sequences,
          .steps = options.steps};
}

checkpoint::FilePlan file_plan_of(const Rank& rank) {
  return {checkpoint::tensors_of(rank.options.model),
          state_types(rank.storage, rank.options.optimizer.adamw.bf16_moments)};
}

RankState state_of(Rank& rank) {
  return {.parameters = rank.parameters, .optimizer = *rank.optimizer, .placement = rank.placement};
}

std::string warmup_change(const checkpoint::TrainingTerms& before, int step, const TrainerOptions& job) {
  const LearningRateSchedule& schedule = job.optimizer.learning_rate;
  const int was = default_warmup_steps(before.steps);
  const bool is_over = step >= std::max(was, schedule.warmup_steps);
  if (schedule.warmup_is_given || was == schedule.warmup_steps || is_over) return "";
  return fmt::format(
      "the warm-up, which training.optimizer.warmupSteps does not set, has {} steps with training.steps {}; "
      "with the {} of the checkpoint it has {}, unless that job set its own: set what it had for the "
      "learning "
      "rate to go on as it was",
      schedule.warmup_steps, job.steps, before.steps, was);
}

bool is_first(const Rank& rank) {
  return rank.options.rendezvous.rank == 0;
}

void tell(const std::string& message) {
  fmt::print(stderr, "caravan-trainer: {}\n", readable(message, message.size()));
}

}  // namespace caravan::trainer
