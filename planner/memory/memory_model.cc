#include "planner/memory/memory_model.h"

#include <algorithm>

#include "planner/memory/activation_coefficients.h"
#include "planner/memory/stage_parameters.h"
#include "planner/memory/stage_replay.h"
#include "planner/memory/stage_shape.h"

namespace caravan::planner {
namespace {

// What a process on a CPU needs beside its tensors: LibTorch's code and tables, Gloo, stacks, and the scratch
// of matrix products and attention, up to 2 MiB a thread in each. VmRSS less counted tensors of a tiny job's
// ranks was 120 to 152 MB (torch 2.11, AMD and Intel), half of it code that the ranks of a machine share.
constexpr int64_t kCpuProcessBytes = 160 << 20;
constexpr int64_t kCpuThreadBytes = 4 << 20;

// On a GPU that is in the terms, as overhead.
int64_t process_bytes(const DevicePool& devices) {
  return devices.gpu ? 0 : kCpuProcessBytes + devices.threads * kCpuThreadBytes;
}

int64_t state_bytes(const PlanRequest& request, const EngineProfile& profile) {
  return moment_bytes(request, profile) + (request.training.bf16 ? profile.master_bytes : 0);
}

// Of the values before an update that is made on trial, where no master copy has them.
int64_t untried_bytes(const PlanRequest& request, const Layout& layout) {
  return layout.validates_afterwards() && !request.training.bf16 ? request.training.storage_bytes() : 0;
}

// Every bucket is cut into a slice for each data parallel rank, whether states are cut or not.
int64_t snapshot_of(const PlanRequest& request, const Layout& layout, const StageElements& elements,
                    const EngineProfile& profile) {
  return elements.values / layout.mesh.data *
         (request.training.storage_bytes() + state_bytes(request, profile));
}

// ZeRO (Rajbhandari et al., arXiv 1910.02054): stage 1 cuts optimizer states over the data parallel ranks, 2
// also gradients, 3 also parameters. What is cut is whole for a bucket at a time: gradients until they are
// reduced, parameters while they are used, and the next ones while they are gathered.
MemoryTerms standing_terms(const PlanRequest& request, const Layout& layout, const Placement& placement,
                           int stage, const EngineProfile& profile) {
  const StageElements elements = stage_elements(request.shape, layout, placement, stage);
  const int64_t storage = request.training.storage_bytes();
  const bool cuts_gradients = layout.zero_stage >= 2;
  const bool cuts_parameters = layout.zero_stage >= 3;
  const int64_t bucket = elements.largest_slice * layout.mesh.data;
  MemoryTerms terms;
  terms.parameters = (cuts_parameters ? elements.states : elements.values) * storage;
  terms.gradients = (cuts_gradients ? elements.states : elements.values) * profile.gradient_bytes;
  terms.optimizer = elements.states * (state_bytes(request, profile) + untried_bytes(request, layout));
  if (request.writes_checkpoints && !request.devices.gpu)
    terms.snapshot = snapshot_of(request, layout, elements, profile);
  if (cuts_gradients) terms.communication += bucket * profile.gradient_bytes;
  if (cuts_parameters) terms.communication += 2 * bucket * storage;
  return terms;
}

bool has_an_end(const Placement& placement, int stage) {
  return stage == placement.embedding_stage() || stage == placement.head_stage();
}

// Of ranks that a rank is in: one along each axis, and one of the two copies of a tied table.
int64_t communication_groups(const PlanRequest& request, const Layout& layout, const Placement& placement,
                             int stage) {
  const bool has_copies =
      request.shape.tied_embeddings && placement.embedding_stage() != placement.head_stage();
  return std::ranges::count_if(kAxes, [&](Axis axis) { return along(layout.mesh, axis) > 1; }) +
         (has_copies && has_an_end(placement, stage) ? 1 : 0);
}

// Holes in the allocator's memory come from what comes and goes; what stands all the time leaves none.
void add_gpu_overhead(MemoryTerms& terms, const MemoryTerms& moving, int64_t groups,
                      const EngineProfile& profile) {
  const auto holes = static_cast<int64_t>(profile.gpu_fragmentation * static_cast<double>(moving.total()));
  terms.communication += groups * profile.gpu_communication_group_bytes;
  terms.overhead = profile.gpu_context_bytes + holes;
}

// Stages that hold the same differ in nothing but the number of micro-batches, which never grows with the
// stage. But where weights wait for their gradients, for longer and longer, it does, and of a sequence's
// segments a later stage may hold larger ones.
bool repeats_an_earlier_stage(const Layout& layout, const Placement& placement, int stage) {
  if (splits_backward(layout.schedule) || cuts_sequences(layout.schedule)) return false;
  if (has_an_end(placement, stage)) return false;
  for (int earlier = 0; earlier < stage; ++earlier) {
    const bool same_layers = layout.layers_per_stage[earlier] == layout.layers_per_stage[stage] &&
                             layout.recomputed_on(earlier) == layout.recomputed_on(stage);
    if (same_layers && !has_an_end(placement, earlier)) return true;
  }
  return false;
}

void correct(const v1alpha1::MemoryCorrection& correction, MemoryTerms& terms) {
  constexpr double kPercent = 100;
  for (const MemoryTerm& term : kMemoryTerms) {
    if (term.name != correction.term()) continue;
    int64_t& bytes = terms.*term.bytes;
    bytes = static_cast<int64_t>(static_cast<double>(bytes) * correction.percent() / kPercent);
  }
}

}  // namespace

int moment_bytes(const PlanRequest& request, const EngineProfile& profile) {
  return request.training.bf16_moments ? profile.moment_bytes / 2 : profile.moment_bytes;
}

int64_t micro_batches(const TrainingNumbers& training, const Layout& layout) {
  return training.global_batch_sequences / (static_cast<int64_t>(layout.mesh.data) * layout.micro_batch_size);
}

MemoryModel::MemoryModel(const PlanRequest& request, const Layout& layout, const EngineProfile& profile)
    : request_(request), profile_(profile) {
  const ScheduleSpec spec = layout.schedule_of(static_cast<int>(micro_batches(request.training, layout)));
  if (!has_fixed_order(spec.kind)) arranged_ops_ = replayed_ops_of_all(spec);
  if (profile.activations) return;
  const LayerGroup group = place_layers(layout).group(0, 0);
  for (int segment = 0; segment < layout.segment_count(); ++segment)
    blocks_.push_back(block_footprints(stage_shape(request, layout, group, segment)));
}

StageFootprint MemoryModel::footprint(const Layout& layout, const LayerGroup& group, int segment) const {
  const StageShape shape = stage_shape(request_, layout, group, segment);
  return profile_.activations ? stage_footprint(shape, *profile_.activations)
                              : stage_footprint(blocks_[segment], shape);
}

MemoryTerms MemoryModel::moving_terms(const Layout& layout, const Placement& placement, int stage) const {
  std::vector<StageFootprint> units;
  units.reserve(static_cast<std::size_t>(layout.segment_count()) *
                static_cast<std::size_t>(placement.map.chunks));
  for (int segment = 0; segment < layout.segment_count(); ++segment) {
    for (int chunk = 0; chunk < placement.map.chunks; ++chunk)
      units.push_back(footprint(layout, placement.group(stage, chunk), segment));
  }
  if (!arranged_ops_.empty())
    return replay_stage(request_, layout, placement, stage, units, arranged_ops_[stage]);
  const auto count = static_cast<int>(micro_batches(request_.training, layout));
  return replay_stage(request_, layout, placement, stage, units,
                      replayed_ops(layout.schedule_of(count), stage));
}

MemoryTerms MemoryModel::of_stage(const Layout& layout, const Placement& placement, int stage) const {
  MemoryTerms terms = standing_terms(request_, layout, placement, stage, profile_);
  const MemoryTerms moving = moving_terms(layout, placement, stage);
  terms.activations = moving.activations;
  terms.logits = moving.logits;
  terms.workspace = moving.workspace;
  terms.communication += moving.communication;
  if (request_.devices.gpu)
    add_gpu_overhead(terms, moving, communication_groups(request_, layout, placement, stage), profile_);
  if (request_.correction) correct(*request_.correction, terms);
  return terms;
}

LayoutMemory MemoryModel::of(const Layout& layout) const {
  const Placement placement = place_layers(layout);
  LayoutMemory memory;
  for (int stage = 0; stage < layout.mesh.pipeline; ++stage) {
    if (repeats_an_earlier_stage(layout, placement, stage)) continue;
    const MemoryTerms needs = of_stage(layout, placement, stage);
    if (stage == 0 || needs.total() > memory.terms.total()) memory = {.terms = needs, .binding_stage = stage};
  }
  return memory;
}

MemoryTerms predict_stage_memory(const PlanRequest& request, const Layout& layout, int stage,
                                 const EngineProfile& profile) {
  return MemoryModel(request, layout, profile).of_stage(layout, place_layers(layout), stage);
}

LayoutMemory predict_memory(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  return MemoryModel(request, layout, profile).of(layout);
}

int64_t standing_bytes(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  const Placement placement = place_layers(layout);
  int64_t bytes = 0;
  for (int stage = 0; stage < layout.mesh.pipeline; ++stage) {
    MemoryTerms terms = standing_terms(request, layout, placement, stage, profile);
    if (request.correction) correct(*request.correction, terms);
    bytes += terms.total();
  }
  return bytes;
}

int64_t snapshot_bytes(const PlanRequest& request, const Layout& layout, int stage,
                       const EngineProfile& profile) {
  return snapshot_of(request, layout, stage_elements(request.shape, layout, place_layers(layout), stage),
                     profile);
}

std::optional<int64_t> usable_bytes(const DevicePool& devices, const EngineProfile& profile) {
  if (!devices.memory_bytes) return std::nullopt;
  const auto left = static_cast<double>(*devices.memory_bytes - process_bytes(devices));
  return std::max<int64_t>(0, static_cast<int64_t>(left * (1 - profile.memory_margin)));
}

int64_t tensor_bytes(int64_t usable_bytes, const EngineProfile& profile) {
  return static_cast<int64_t>(static_cast<double>(usable_bytes) / (1 - profile.memory_margin));
}

int64_t memory_for(int64_t peak_bytes, const DevicePool& devices, const EngineProfile& profile) {
  return tensor_bytes(peak_bytes, profile) + process_bytes(devices);
}

}  // namespace caravan::planner
