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

// The highest moment of one step: every op starts with what earlier micro-batches left, and with what its
// neighbours sent.
MemoryTerms moving_terms(const PlanRequest& request, const Layout& layout, int stage) {
  const StageMemory unit = stage_memory(stage_shape(request, layout, stage));
  const int64_t received_by_forward = stage > 0 ? unit.boundary : 0;
  const int64_t received_by_backward = stage + 1 < layout.pipeline ? unit.boundary : 0;
  MemoryTerms peak;
  const auto observe = [&](int64_t alive, const MemoryUse& phase) {
    const MemoryTerms now{.activations = alive + phase.activations,
                          .logits = phase.logits,
                          .workspace = unit.constants + phase.workspace,
                          .communication = phase.communication};
    if (now.total() > peak.total()) peak = now;
  };
  int64_t held = 0;
  const int replayed = replayed_micro_batches(layout, micro_batches(request.training, layout));
  for (const Op& op : generate_stage(layout.schedule, layout.pipeline, replayed, stage)) {
    if (op.type == OpType::Forward) {
      observe(held * unit.kept + received_by_forward, unit.forward.peak);
      ++held;
    } else {
      observe(held * unit.kept + received_by_backward, unit.backward.peak);
      --held;
    }
  }
  return peak;
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
