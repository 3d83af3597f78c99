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
  const int64_t count = stage_parameters(request.shape, layout, stage);
  const int64_t shards = layout.zero_stage >= 1 ? layout.data : 1;
  const int64_t optimizer_bytes = profile.moment_bytes + (request.training.bf16 ? profile.master_bytes : 0);
  return {.parameters = count * request.training.storage_bytes(),
          .gradients = count * profile.gradient_bytes,
          .optimizer = (count + shards - 1) / shards * optimizer_bytes};
}

// Ops that decide the peak: after 1F1B's warm-up every micro-batch repeats the one before.
int replayed_micro_batches(const Layout& layout, int64_t count) {
  if (layout.schedule == ScheduleKind::OneFOneB) count = std::min<int64_t>(count, 2 * layout.pipeline);
  return static_cast<int>(count);
}

// Token ids of a rank's whole share of a step, read before it begins.
int64_t token_bytes(const PlanRequest& request, const Layout& layout, int stage) {
  const int64_t sequences = request.training.global_batch_sequences / layout.data;
  const int64_t one_side = sequences * request.training.sequence_length * bytes_of(ElementType::INT64);
  return (stage == 0 ? one_side : 0) + (stage == layout.pipeline - 1 ? one_side : 0);
}

// What waits for a neighbour while an op runs: the last activations sent while gradients are computed, the
// last gradient sent while activations are (worker/trainer/pipeline/transfers.h).
class SendsUnderWay {
 public:
  SendsUnderWay(const Layout& layout, int stage, int64_t boundary)
      : activations_(stage + 1 < layout.pipeline ? boundary : 0), gradients_(stage > 0 ? boundary : 0) {}

  int64_t during_forward() const { return backward_ran_ ? gradients_ : 0; }
  int64_t during_backward() const { return forward_ran_ ? activations_ : 0; }
  void after_forward() { forward_ran_ = true; }
  void after_backward() { backward_ran_ = true; }

 private:
  int64_t activations_;
  int64_t gradients_;
  bool forward_ran_ = false;
  bool backward_ran_ = false;
};

// The highest moment of forward and backward: every op starts with what earlier micro-batches left, and with
// what its neighbours sent.
MemoryTerms moving_terms(const PlanRequest& request, const Layout& layout, int stage) {
  const StageMemory unit = stage_memory(stage_shape(request, layout, stage));
  const int64_t received_by_forward = stage > 0 ? unit.boundary : 0;
  const int64_t received_by_backward = stage + 1 < layout.pipeline ? unit.boundary : 0;
  const int64_t tokens = token_bytes(request, layout, stage);
  MemoryTerms peak;
  const auto observe = [&](int64_t alive, int64_t exchanged, const MemoryUse& phase) {
    const MemoryTerms now{.activations = tokens + alive + phase.activations,
                          .logits = phase.logits,
                          .workspace = unit.constants + phase.workspace,
                          .communication = exchanged + phase.communication};
    if (now.total() > peak.total()) peak = now;
  };
  int64_t held = 0;
  SendsUnderWay sends(layout, stage, unit.boundary);
  const int replayed = replayed_micro_batches(layout, micro_batches(request.training, layout));
  for (const Op& op : generate_stage(layout.schedule, layout.pipeline, replayed, stage)) {
    if (op.type == OpType::Forward) {
      observe(held * unit.kept, received_by_forward + sends.during_forward(), unit.forward.peak);
      sends.after_forward();
      ++held;
    } else {
      observe(held * unit.kept, received_by_backward + sends.during_backward(), unit.backward.peak);
      sends.after_backward();
      --held;
    }
  }
  return peak;
}

// While gradients are summed and measured: chunks of them, received or widened
// (worker/trainer/comm/direct_exchange.h, worker/trainer/optim/gradient_norm.h).
MemoryTerms updating_terms(const PlanRequest& request, const Layout& layout, int stage,
                           const EngineProfile& profile) {
  constexpr int64_t kExchangeChunk = 64 * 1024;
  constexpr int64_t kNormChunk = 16 * 1024;
  const int64_t count = stage_parameters(request.shape, layout, stage);
  const int64_t exchanged =
      layout.data > 1 ? std::min(kExchangeChunk, count / layout.data) * profile.gradient_bytes : 0;
  const int64_t widened = std::min(kNormChunk, count / layout.data) * bytes_of(ElementType::FP64);
  const int64_t constants = stage_memory(stage_shape(request, layout, stage)).constants;
  if (exchanged > widened) return {.workspace = constants, .communication = exchanged};
  return {.workspace = constants + widened};
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
  const MemoryTerms computing = moving_terms(request, layout, stage);
  const MemoryTerms updating = updating_terms(request, layout, stage, profile);
  const MemoryTerms& moving = computing.total() >= updating.total() ? computing : updating;
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
