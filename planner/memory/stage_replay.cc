#include "planner/memory/stage_replay.h"

#include <algorithm>
#include <utility>

#include "planner/memory/stage_parameters.h"
#include "planner/work/constants.h"

namespace caravan::planner {
namespace {

// Token ids of a rank's share of the global batch: inputs where the embedding is, targets where the head is.
// Those of ranks on GPUs lie in the host's memory (host_memory.h); the device has a copy of a micro-batch's
// while one of its ends works on it.
int64_t token_bytes(const PlanRequest& request, const Layout& layout, const Placement& placement, int stage) {
  const TrainingNumbers& training = request.training;
  const int kinds = (stage == placement.embedding_stage()) + (stage == placement.head_stage());
  const int64_t sequences = request.devices.gpu ? layout.micro_batch_size * std::min(kinds, 1)
                                                : training.global_batch_sequences / layout.mesh.data * kinds;
  return sequences * training.sequence_length * bytes_of(ElementType::INT64);
}

// The ranks of a stage have consecutive numbers.
bool adds_up_in_shared_memory(const Layout& layout, int stage, int per_node) {
  const int ranks = layout.mesh.tensor * layout.mesh.data;
  const bool is_on_one_node = stage * ranks / per_node == ((stage + 1) * ranks - 1) / per_node;
  return is_on_one_node && layout.mesh.data <= kMostRanksSharingMemory;
}

class StageReplay {
 public:
  StageReplay(int64_t tokens, std::span<const StageFootprint> units, int chunks)
      : tokens_(tokens), units_(units), chunks_(chunks) {
    for (const StageFootprint& unit : units) constants_ = std::max(constants_, unit.constants);
  }

  // Micro-batches whose forward is done and whose backward comes after all that is replayed.
  void hold(int64_t count) {
    for (const StageFootprint& unit : units_) held_ += count * unit.kept;
  }

  void run(const Action& action) {
    switch (action.type) {
      case ActionType::PostReceive:
        boundaries_ += unit_of(action.op).boundary;
        return;
      case ActionType::FinishSend:
        boundaries_ -= unit_of(action.op).boundary;
        return;
      case ActionType::AwaitReceive:
      case ActionType::Take:
        input_ = unit_of(action.op).boundary;
        return;
      case ActionType::Compute:
        compute(action.op);
        boundaries_ -= std::exchange(input_, 0);
        return;
      case ActionType::StartSend:
      case ActionType::HandOver:
        boundaries_ += unit_of(action.op).boundary;
        return;
    }
  }

  // Between the last op and the update: the sum over data parallel ranks, for which our own exchange over a
  // network has a buffer on CPUs.
  void end_step(bool has_buffer, const StageElements& elements) {
    const int64_t received = has_buffer ? std::min(elements.largest_slice, kExchangeChunkElements) : 0;
    consider({.workspace = constants_, .communication = received * bytes_of(ElementType::FP32)});
  }

  const MemoryTerms& peak() const { return peak_; }

 private:
  const StageFootprint& unit_of(const Op& op) const { return units_[op.segment * chunks_ + op.chunk]; }

  void compute(const Op& op) {
    const StageFootprint& unit = unit_of(op);
    switch (op.type) {
      case OpType::Forward:
        observe(unit.forward);
        held_ += unit.kept;
        return;
      case OpType::Backward:
        observe(unit.backward);
        held_ += unit.lent - unit.borrowed - unit.kept;
        return;
      case OpType::BackwardInput:
        observe(unit.backward_input);
        held_ += unit.lent - unit.borrowed - unit.kept + unit.waiting;
        return;
      case OpType::BackwardWeight:
        observe(unit.backward_weight);
        held_ -= unit.waiting;
        return;
    }
  }

  int64_t standing() const { return tokens_ + held_ + boundaries_; }

  void observe(const Footprint& op) {
    consider({.activations = standing() + op.peak.activations,
              .logits = op.peak.logits,
              .workspace = constants_ + op.peak.workspace,
              .communication = op.peak.communication});
  }

  void consider(const MemoryTerms& now) {
    const int64_t total = now.total();
    if (total <= most_) return;
    most_ = total;
    peak_ = now;
  }

  const int64_t tokens_;
  const std::span<const StageFootprint> units_;
  const int chunks_;
  int64_t constants_ = 0;
  int64_t held_ = 0;        // between a forward and the gradients of its weights
  int64_t boundaries_ = 0;  // between groups of layers; an op's input until the op is done
  int64_t input_ = 0;       // of the next op
  int64_t most_ = 0;
  MemoryTerms peak_;  // of which most_ is the sum
};

}  // namespace

MemoryTerms replay_stage(const PlanRequest& request, const Layout& layout, const Placement& placement,
                         int stage, std::span<const StageFootprint> units, const ReplayedOps& replayed) {
  StageReplay replay(token_bytes(request, layout, placement, stage), units, placement.map.chunks);
  replay.hold(replayed.held);
  for (const Action& action : replayed.actions) replay.run(action);
  const DevicePool& devices = request.devices;
  const bool has_buffer =
      !devices.gpu && layout.mesh.data > 1 && !adds_up_in_shared_memory(layout, stage, devices.per_node);
  replay.end_step(has_buffer, stage_elements(request.shape, layout, placement, stage));
  return replay.peak();
}

}  // namespace caravan::planner
