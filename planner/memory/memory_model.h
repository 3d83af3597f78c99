// Predicts what one device holds at the moment of its peak, by term, for every stage of a layout.
//
// Parameters, gradients and optimizer states stand all the time; activations come and go with the ops of the
// schedule, which is replayed op by op. The sum of the terms is the peak. Pure arithmetic: nothing can fail.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/engine_profile.h"
#include "planner/layout.h"
#include "planner/memory/memory_terms.h"
#include "planner/memory/replayed_ops.h"
#include "planner/placement.h"
#include "planner/request.h"
#include "planner/work/stage_footprint.h"

namespace caravan::planner {

struct LayoutMemory {
  MemoryTerms terms;  // of the binding stage
  int binding_stage = 0;

  int64_t peak_bytes() const { return terms.total(); }
};

// Of layouts that differ from this one in nothing but how their layers are split, and how many of them are
// made again: what a block takes is the same for all of them. Request and profile outlive it.
class MemoryModel {
 public:
  MemoryModel(const PlanRequest& request, const Layout& layout, const EngineProfile& profile);

  MemoryTerms of_stage(const Layout& layout, const Placement& placement, int stage) const;
  // Of the stage that needs the most; the first one of equals.
  LayoutMemory of(const Layout& layout) const;

 private:
  StageFootprint footprint(const Layout& layout, const LayerGroup& group, int segment) const;
  MemoryTerms moving_terms(const Layout& layout, const Placement& placement, int stage) const;

  const PlanRequest& request_;
  const EngineProfile& profile_;
  std::vector<BlockFootprints> blocks_;    // of our own trainer, by segment
  std::vector<ReplayedOps> arranged_ops_;  // by stage, where op lists have no fixed order
};

MemoryTerms predict_stage_memory(const PlanRequest& request, const Layout& layout, int stage,
                                 const EngineProfile& profile);
LayoutMemory predict_memory(const PlanRequest& request, const Layout& layout, const EngineProfile& profile);

// What stands all the time on all stages of a layout together, however its layers are split over them: less
// than their peaks together, and known without looking at ops.
int64_t standing_bytes(const PlanRequest& request, const Layout& layout, const EngineProfile& profile);

// The copy of a rank's part of a checkpoint, from which it is written while training goes on: weights and
// optimizer states of its slice. On a CPU it is a term of the rank's memory, on a GPU it lies in the host's.
int64_t snapshot_bytes(const PlanRequest& request, const Layout& layout, int stage,
                       const EngineProfile& profile);

// Of both moments of an element.
int moment_bytes(const PlanRequest& request, const EngineProfile& profile);

// Memory of a device that a plan may fill: less the margin and, on a CPU, what a process needs beside its
// tensors; nothing where the device's memory is unknown.
std::optional<int64_t> usable_bytes(const DevicePool& devices, const EngineProfile& profile);
// And what such a device has for tensors, the margin included.
int64_t tensor_bytes(int64_t usable_bytes, const EngineProfile& profile);
// The memory that a device must have for a plan of that peak.
int64_t memory_for(int64_t peak_bytes, const DevicePool& devices, const EngineProfile& profile);

// Micro-batches of one pipeline in one step.
int64_t micro_batches(const TrainingNumbers& training, const Layout& layout);

}  // namespace caravan::planner
