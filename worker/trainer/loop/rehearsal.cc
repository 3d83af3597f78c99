#include "worker/trainer/loop/rehearsal.h"

#include "planner/schedule/schedule.h"

namespace caravan::trainer {
namespace {

using planner::Op;
using planner::OpType;

// The first and the last group of layers take nothing from others.
bool takes_message(const Op& op, int stage, const planner::ChunkMap& map) {
  const int group = map.group_of(stage, op.chunk);
  switch (op.type) {
    case OpType::Forward:
      return group != 0;
    case OpType::Backward:
    case OpType::BackwardInput:
      return group != map.groups() - 1;
    case OpType::BackwardWeight:
      return false;
  }
  return false;
}

// In their order in the step, in which each finds what it needs.
void run_first_micro_batch(Rank& rank, const WorkPlace& place, const StepTokens& tokens) {
  const planner::Schedule& schedule = rank.options.schedule;
  const int stage = rank.mesh.position.pipeline;
  TrainingWork work(place, tokens);
  for (const Op& op : schedule.ops[static_cast<std::size_t>(stage)]) {
    if (op.micro_batch != 0) continue;
    const bool takes = takes_message(op, stage, schedule.map());
    work.run(op, takes ? work.boundary_buffer(op).zero_() : at::Tensor());
  }
  if (at::Tensor loss = work.loss_sum(); loss.defined()) loss.add_(loss);  // as that of the next one is
}

}  // namespace

void rehearse(Rank& rank, const WorkPlace& place, const StepTokens& tokens) {
  run_first_micro_batch(rank, place, tokens);
  rank.gradient_sums->finish();
  if (rank.options.layout.validates_afterwards()) {
    rank.optimizer->try_update(/*learning_rate=*/0);
    rank.optimizer->take_back();
    rank.optimizer->await_values();
  }
  rank.parameters.gradients.zero_();
}

}  // namespace caravan::trainer
