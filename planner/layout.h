// How one model is spread over devices: the value that search produces, memory and time are predicted for,
// and the trainer executes.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/mesh.h"
#include "planner/recomputed_part.h"
#include "planner/schedule/schedule.h"

namespace caravan::planner {

struct Layout {
  MeshShape mesh;  // one rank a device
  int micro_batch_size = 1;
  bool sequence_parallel = false;
  // Layers run in part again in the backward: the first ones of each stage, so that the others have given
  // their memory back by then. Without numbers, all.
  bool activation_checkpointing = false;
  RecomputedPart recomputed_part = RecomputedPart::Layer;
  std::vector<int> recomputed_layers = {};  // size = pipeline, or empty
  int virtual_stages = 1;                   // chunks of a stage's layers
  std::vector<int> layers_per_stage;        // size = pipeline, sum = layers of the model
  ScheduleKind schedule = ScheduleKind::OneFOneB;
  std::vector<int64_t> segments = {};        // tokens of each, where the schedule cuts sequences
  std::vector<PhaseTimes> group_times = {};  // that op lists without a fixed order are arranged for
  int zero_stage = 1;                        // 0 to 3
  bool operator==(const Layout&) const = default;

  ScheduleSpec schedule_of(int micro_batches) const {
    return {.kind = schedule,
            .stages = mesh.pipeline,
            .micro_batches = micro_batches,
            .chunks = virtual_stages,
            .segments = segment_count(),
            .group_times = group_times};
  }

  // Where there is anybody to wait for.
  bool validates_afterwards() const { return mesh.pipeline > 1 && planner::validates_afterwards(schedule); }

  int segment_count() const { return segments.empty() ? 1 : static_cast<int>(segments.size()); }

  int recomputed_on(int stage) const {
    if (!activation_checkpointing) return 0;
    return recomputed_layers.empty() ? layers_per_stage[stage] : recomputed_layers[stage];
  }

  // The same without activation checkpointing.
  Layout keeping_activations() const {
    Layout keeping = *this;
    keeping.activation_checkpointing = false;
    keeping.recomputed_part = RecomputedPart::Layer;
    keeping.recomputed_layers.clear();
    return keeping;
  }

  int recomputed() const {
    int layers = 0;
    for (int stage = 0; stage < mesh.pipeline; ++stage) layers += recomputed_on(stage);
    return layers;
  }
};

}  // namespace caravan::planner
