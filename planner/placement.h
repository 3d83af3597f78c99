// What of a model stands where: its layers in groups, and the two ends, embedding and head.
//
// Made here for everybody who asks: parameters, memory, times and transfers of the planner, and the trainer's
// ranks. Nobody else derives an end of the model from the number of a stage. Pure. Assumes one entry of
// layers_per_stage for each stage.
#pragma once

#include <vector>

#include "planner/layout.h"

namespace caravan::planner {

// Consecutive layers that a stage works on as one; see planner/schedule/chunk_map.h.
struct LayerGroup {
  int stage = 0;
  int chunk = 0;  // of the stage
  int first_layer = 0;
  int layers = 0;
  bool has_embedding = false;
  bool has_head = false;
  int recomputed_layers = 0;  // the first ones run in part again in the backward
  bool operator==(const LayerGroup&) const = default;
};

struct Placement {
  ChunkMap map;
  std::vector<LayerGroup> groups;  // in the order in which activations pass them

  const LayerGroup& group(int stage, int chunk) const { return groups[map.group_of(stage, chunk)]; }
  std::vector<LayerGroup> groups_of(int stage) const;  // by chunk
  int embedding_stage() const { return groups.front().stage; }
  int head_stage() const { return groups.back().stage; }
  int layers_of(int stage) const;

  // So many of a stage's first layers run in part again: those of its first chunk, then those of the next.
  void recompute(int stage, int layers);
};

Placement place_layers(const Layout& layout);

// Where the last group stands; nothing needs to be known of the layers.
int head_stage(const Layout& layout);

}  // namespace caravan::planner
