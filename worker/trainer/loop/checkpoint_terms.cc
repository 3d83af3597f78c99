#include "worker/trainer/loop/checkpoint_terms.h"

#include <fmt/format.h>

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

bool is_first(const Rank& rank) {
  return rank.options.rendezvous.rank == 0;
}

void tell(const std::string& message) {
  fmt::print(stderr, "caravan-trainer: {}\n", readable(message, message.size()));
}

}  // namespace caravan::trainer
