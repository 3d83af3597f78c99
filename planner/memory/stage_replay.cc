#include "planner/memory/stage_replay.h"

#include <algorithm>

#include "planner/memory/stage_parameters.h"
#include "planner/schedule/schedule.h"
#include "planner/work/constants.h"

namespace caravan::planner {
namespace {

// Token ids of a rank's share of the global batch: inputs where the embedding is, targets where the head is.
int64_t token_bytes(const PlanRequest& request, const Layout& layout, const Placement& placement, int stage) {
  const TrainingNumbers& training = request.training;
  const int64_t tokens = training.global_batch_sequences / layout.mesh.data * training.sequence_length;
  const int kinds = (stage == placement.embedding_stage()) + (stage == placement.head_stage());
  return kinds * tokens * bytes_of(ElementType::INT64);
}

// A chunk of a stage's layers, and its neighbours.
struct Chunk {
  StageFootprint memory;
  bool has_previous = false;
  bool has_next = false;
};

class StageReplay {
 public:
  StageReplay(int64_t tokens, const Placement& placement, int stage, std::span<const StageFootprint> chunks)
      : tokens_(tokens) {
    for (int chunk = 0; chunk < placement.map.chunks; ++chunk) {
      const LayerGroup& group = placement.group(stage, chunk);
      chunks_.push_back(
          {.memory = chunks[chunk], .has_previous = !group.has_embedding, .has_next = !group.has_head});
      constants_ = std::max(constants_, chunks[chunk].constants);
    }
  }

  // Micro-batches whose forward is done and whose backward comes after all that is replayed.
  void hold(int64_t count) {
    for (const Chunk& chunk : chunks_) held_ += count * chunk.memory.kept;
  }

  void run(const Op& op) {
    const Chunk& chunk = chunks_[op.chunk];
    const StageFootprint& unit = chunk.memory;
    const bool forward = op.type == OpType::Forward;
    const bool receives = forward ? chunk.has_previous : chunk.has_next;
    const bool other_send_under_way = forward ? gradient_under_way_ : activations_under_way_;
    const int64_t exchanged = (receives ? 1 : 0) + (other_send_under_way ? 1 : 0);
    observe(exchanged * unit.boundary, forward ? unit.forward.peak : unit.backward.peak);
    held_ += forward ? unit.kept : -unit.kept;
    (forward ? activations_under_way_ : gradient_under_way_) = forward ? chunk.has_next : chunk.has_previous;
  }

  // Between the last op and the update: the sum over data parallel ranks, for which our own exchange on CPUs
  // has a buffer, then the gradient norm.
  void end_step(const DevicePool& devices, const Layout& layout, const StageElements& elements) {
    const bool has_buffer = !devices.gpu && layout.mesh.data > 1;
    const int64_t received = has_buffer ? std::min(elements.largest_slice, kExchangeChunkElements) : 0;
    const int64_t exchange = received * bytes_of(ElementType::FP32);
    const int64_t squared = std::min(elements.largest_parameter, kNormChunkElements);
    consider({.workspace = constants_, .communication = exchange});
    consider({.workspace = constants_ + squared * bytes_of(ElementType::FP64)});
  }

  const MemoryTerms& peak() const { return peak_; }

 private:
  void observe(int64_t exchanged, const MemoryUse& phase) {
    consider({.activations = tokens_ + held_ + exchanged + phase.activations,
              .logits = phase.logits,
              .workspace = constants_ + phase.workspace,
              .communication = phase.communication});
  }

  void consider(const MemoryTerms& now) {
    if (now.total() > peak_.total()) peak_ = now;
  }

  const int64_t tokens_;
  std::vector<Chunk> chunks_;
  int64_t constants_ = 0;
  int64_t held_ = 0;
  bool activations_under_way_ = false;
  bool gradient_under_way_ = false;
  MemoryTerms peak_;
};

}  // namespace

// Once a pipeline is full every micro-batch repeats the one before, so two rounds are replayed; the others
// never count with 1F1B, and wait for their backward with GPipe.
MemoryTerms replay_stage(const PlanRequest& request, const Layout& layout, const Placement& placement,
                         int stage, std::span<const StageFootprint> chunks) {
  const int64_t count = micro_batches(request.training, layout);
  const auto replayed = static_cast<int>(std::min(count, int64_t{2} * layout.mesh.pipeline));
  StageReplay replay(token_bytes(request, layout, placement, stage), placement, stage, chunks);
  if (layout.schedule == ScheduleKind::GPipe) replay.hold(count - replayed);
  for (const Op& op :
       generate_stage(layout.schedule, layout.mesh.pipeline, replayed, stage, layout.virtual_stages))
    replay.run(op);
  replay.end_step(request.devices, layout, stage_elements(request.shape, layout, placement, stage));
  return replay.peak();
}

}  // namespace caravan::planner
