#include "planner/memory/stage_replay.h"

#include <algorithm>

#include "planner/memory/stage_parameters.h"
#include "planner/schedule/generate.h"
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

// Sends in one direction, each with its tensor. Before an op that makes one more, the oldest is finished
// where that would be too many.
class Sends {
 public:
  explicit Sends(int most) : most_(most) {}

  int under_way() const { return count_; }
  void make_room(bool sends) { count_ = sends ? std::min(count_, most_ - 1) : count_; }
  void start(bool sends) { count_ += sends ? 1 : 0; }

 private:
  const int most_;
  int count_ = 0;
};

class StageReplay {
 public:
  StageReplay(int64_t tokens, const Placement& placement, int stage, std::span<const StageFootprint> chunks,
              int messages_under_way)
      : tokens_(tokens), activations_(messages_under_way), gradients_(messages_under_way) {
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
    switch (op.type) {
      case OpType::Forward:
        activations_.make_room(chunk.has_next);
        observe(chunk, chunk.has_previous, unit.forward);
        activations_.start(chunk.has_next);
        held_ += unit.kept;
        return;
      case OpType::Backward:
        gradients_.make_room(chunk.has_previous);
        observe(chunk, chunk.has_next, unit.backward);
        gradients_.start(chunk.has_previous);
        held_ -= unit.kept;
        return;
      case OpType::BackwardInput:
        gradients_.make_room(chunk.has_previous);
        observe(chunk, chunk.has_next, unit.backward_input);
        gradients_.start(chunk.has_previous);
        held_ += unit.waiting - unit.kept;
        return;
      case OpType::BackwardWeight:
        observe(chunk, /*receives=*/false, unit.backward_weight);
        held_ -= unit.waiting;
        return;
    }
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
  // Beside the op's own tensors: the one that came for it, and those of sends that are not done.
  void observe(const Chunk& chunk, bool receives, const Footprint& op) {
    const int64_t boundaries = (receives ? 1 : 0) + activations_.under_way() + gradients_.under_way();
    consider({.activations = tokens_ + held_ + boundaries * chunk.memory.boundary + op.peak.activations,
              .logits = op.peak.logits,
              .workspace = constants_ + op.peak.workspace,
              .communication = op.peak.communication});
  }

  void consider(const MemoryTerms& now) {
    if (now.total() > peak_.total()) peak_ = now;
  }

  const int64_t tokens_;
  std::vector<Chunk> chunks_;
  int64_t constants_ = 0;
  int64_t held_ = 0;
  Sends activations_;
  Sends gradients_;
  MemoryTerms peak_;
};

// Once a stage holds all that it ever does, every micro-batch repeats the one before: the others never count,
// but with GPipe, where they wait for their backward.
int replayed_micro_batches(const ScheduleSpec& spec, int stage) {
  constexpr int kRepeated = 2;
  switch (spec.kind) {
    case ScheduleKind::GPipe:
      return std::min(spec.micro_batches, kRepeated);
    case ScheduleKind::Interleaved:  // whole rounds
      return std::min(spec.micro_batches, 2 * spec.stages);
    default:
      return std::min(spec.micro_batches, static_cast<int>(promised_peak(spec, stage)) + kRepeated);
  }
}

}  // namespace

MemoryTerms replay_stage(const PlanRequest& request, const Layout& layout, const Placement& placement,
                         int stage, std::span<const StageFootprint> chunks) {
  const auto count = static_cast<int>(micro_batches(request.training, layout));
  const int replayed = replayed_micro_batches(layout.schedule_of(count), stage);
  StageReplay replay(token_bytes(request, layout, placement, stage), placement, stage, chunks,
                     messages_under_way(layout.schedule));
  if (layout.schedule == ScheduleKind::GPipe) replay.hold(count - replayed);
  for (const Op& op : generate_stage(layout.schedule_of(replayed), stage)) replay.run(op);
  replay.end_step(request.devices, layout, stage_elements(request.shape, layout, placement, stage));
  return replay.peak();
}

}  // namespace caravan::planner
