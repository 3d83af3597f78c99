#include "planner/memory/memory_model.h"

#include <algorithm>

#include "planner/memory/block_table.h"
#include "planner/memory/stage_parameters.h"
#include "planner/memory/stage_shape.h"
#include "planner/schedule/schedule.h"

namespace caravan::planner {
namespace {

MemoryTerms standing_terms(const PlanRequest& request, const Layout& layout, int stage,
                           const EngineProfile& profile) {
  const StageElements elements = stage_elements(request.shape, layout, stage);
  const int64_t state_bytes = profile.moment_bytes + (request.training.bf16 ? profile.master_bytes : 0);
  return {.parameters = elements.values * request.training.storage_bytes(),
          .gradients = elements.values * profile.gradient_bytes,
          .optimizer = elements.states * state_bytes};
}

// Token ids of a rank's share of the global batch: inputs on the first stage, targets on the last.
int64_t token_bytes(const PlanRequest& request, const Layout& layout, int stage) {
  const TrainingNumbers& training = request.training;
  const int64_t tokens = training.global_batch_sequences / layout.data * training.sequence_length;
  const int kinds = (stage == 0) + (stage == layout.pipeline - 1);
  return kinds * tokens * bytes_of(ElementType::INT64);
}

// Replays the ops of one stage with the transfers around them: an op's input is received right before it,
// what it made is held until the next op of its direction is about to run.
class StageReplay {
 public:
  StageReplay(const PlanRequest& request, const Layout& layout, int stage)
      : unit_(stage_memory(stage_shape(request, layout, stage))),
        tokens_(token_bytes(request, layout, stage)),
        has_previous_(stage > 0),
        has_next_(stage + 1 < layout.pipeline) {}

  // Micro-batches whose forward is done and whose backward comes after all that is replayed.
  void hold(int64_t count) { held_ += count; }

  void run(const Op& op) {
    const bool forward = op.type == OpType::Forward;
    const bool receives = forward ? has_previous_ : has_next_;
    const bool sends = forward ? has_next_ : has_previous_;
    const bool other_send_under_way = forward ? gradient_under_way_ : activations_under_way_;
    observe(receives, other_send_under_way, forward ? unit_.forward.peak : unit_.backward.peak);
    held_ += forward ? 1 : -1;
    (forward ? activations_under_way_ : gradient_under_way_) = sends;
  }

  // Between the last op and the update: the sum over data parallel ranks, then the gradient norm.
  void end_step(const Layout& layout, const StageElements& elements) {
    const int64_t exchange =
        layout.data > 1 ? std::min(elements.largest_slice, kExchangeElements) * bytes_of(ElementType::FP32)
                        : 0;
    const int64_t squared = std::min(elements.largest_parameter, kNormElements);
    consider({.workspace = unit_.constants, .communication = exchange});
    consider({.workspace = unit_.constants + squared * bytes_of(ElementType::FP64)});
  }

  const MemoryTerms& peak() const { return peak_; }

 private:
  // As in worker/trainer: communicator.h and gradient_norm.h.
  static constexpr int64_t kExchangeElements = int64_t{64} * 1024;
  static constexpr int64_t kNormElements = int64_t{16} * 1024;

  void observe(bool receives, bool other_send_under_way, const MemoryUse& phase) {
    const int exchanged = (receives ? 1 : 0) + (other_send_under_way ? 1 : 0);
    consider({.activations = tokens_ + held_ * unit_.kept + phase.activations,
              .logits = phase.logits,
              .workspace = unit_.constants + phase.workspace,
              .communication = exchanged * unit_.boundary + phase.communication});
  }

  void consider(const MemoryTerms& now) {
    if (now.total() > peak_.total()) peak_ = now;
  }

  const StageMemory unit_;
  const int64_t tokens_;
  const bool has_previous_;
  const bool has_next_;
  int64_t held_ = 0;
  bool activations_under_way_ = false;
  bool gradient_under_way_ = false;
  MemoryTerms peak_;
};

// The highest moment of one step. Once a pipeline is full every micro-batch repeats the one before, so two
// rounds are replayed; the others never count with 1F1B, and wait for their backward with GPipe.
MemoryTerms moving_terms(const PlanRequest& request, const Layout& layout, int stage) {
  const int64_t count = micro_batches(request.training, layout);
  const auto replayed = static_cast<int>(std::min(count, int64_t{2} * layout.pipeline));
  StageReplay replay(request, layout, stage);
  if (layout.schedule == ScheduleKind::GPipe) replay.hold(count - replayed);
  for (const Op& op : generate_stage(layout.schedule, layout.pipeline, replayed, stage)) replay.run(op);
  replay.end_step(layout, stage_elements(request.shape, layout, stage));
  return replay.peak();
}

void add_gpu_overhead(MemoryTerms& terms, const Layout& layout, const EngineProfile& profile) {
  const int groups = (layout.tensor > 1) + (layout.pipeline > 1) + (layout.data > 1);
  const auto holes = static_cast<int64_t>(profile.gpu_fragmentation * static_cast<double>(terms.total()));
  terms.communication += groups * profile.gpu_communication_group_bytes;
  terms.overhead = profile.gpu_context_bytes + holes;
}

// Stages that differ in more than the number of micro-batches they hold, which never grows with the stage.
bool repeats_an_earlier_stage(const Layout& layout, int stage) {
  if (stage <= 1 || stage == layout.pipeline - 1) return false;
  return std::find(layout.layers_per_stage.begin() + 1, layout.layers_per_stage.begin() + stage,
                   layout.layers_per_stage[stage]) != layout.layers_per_stage.begin() + stage;
}

}  // namespace

int64_t MemoryTerms::total() const {
  return parameters + gradients + optimizer + activations + logits + workspace + communication + overhead;
}

std::vector<NamedTerm> named_terms(const MemoryTerms& terms) {
  return {
      {"parameters", terms.parameters},       {"gradients", terms.gradients}, {"optimizer", terms.optimizer},
      {"activations", terms.activations},     {"logits", terms.logits},       {"workspace", terms.workspace},
      {"communication", terms.communication}, {"overhead", terms.overhead}};
}

int64_t micro_batches(const TrainingNumbers& training, const Layout& layout) {
  return training.global_batch_sequences / (static_cast<int64_t>(layout.data) * layout.micro_batch_size);
}

MemoryTerms predict_stage_memory(const PlanRequest& request, const Layout& layout, int stage,
                                 const EngineProfile& profile) {
  MemoryTerms terms = standing_terms(request, layout, stage, profile);
  const MemoryTerms moving = moving_terms(request, layout, stage);
  terms.activations = moving.activations;
  terms.logits = moving.logits;
  terms.workspace = moving.workspace;
  terms.communication = moving.communication;
  if (request.devices.gpu) add_gpu_overhead(terms, layout, profile);
  return terms;
}

LayoutMemory predict_memory(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  LayoutMemory memory;
  for (int stage = 0; stage < layout.pipeline; ++stage) {
    if (repeats_an_earlier_stage(layout, stage)) continue;
    const MemoryTerms terms = predict_stage_memory(request, layout, stage, profile);
    if (stage == 0 || terms.total() > memory.terms.total()) memory = {.terms = terms, .binding_stage = stage};
  }
  return memory;
}

std::optional<int64_t> usable_bytes(const DevicePool& devices, const EngineProfile& profile) {
  if (!devices.memory_bytes) return std::nullopt;
  return static_cast<int64_t>(static_cast<double>(*devices.memory_bytes) * (1 - profile.memory_margin));
}

}  // namespace caravan::planner
