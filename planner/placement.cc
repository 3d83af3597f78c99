#include "planner/placement.h"

#include <algorithm>

namespace caravan::planner {

int Placement::layers_of(int stage) const {
  int layers = 0;
  for (int chunk = 0; chunk < map.chunks; ++chunk) layers += group(stage, chunk).layers;
  return layers;
}

std::vector<LayerGroup> Placement::groups_of(int stage) const {
  std::vector<LayerGroup> of_stage;
  of_stage.reserve(map.chunks);
  for (int chunk = 0; chunk < map.chunks; ++chunk) of_stage.push_back(group(stage, chunk));
  return of_stage;
}

void Placement::recompute(int stage, int layers) {
  for (int chunk = 0; chunk < map.chunks; ++chunk) {
    LayerGroup& group = groups[map.group_of(stage, chunk)];
    group.recomputed_layers = std::min(layers, group.layers);
    layers -= group.recomputed_layers;
  }
}

int head_stage(const Layout& layout) {
  const ChunkMap map = layout.schedule_of(/*micro_batches=*/1).map();
  return map.stage_of(map.groups() - 1);
}

Placement place_layers(const Layout& layout) {
  Placement placement{.map = layout.schedule_of(/*micro_batches=*/1).map(), .groups = {}};
  const ChunkMap& map = placement.map;
  placement.groups.reserve(map.groups());
  int first_layer = 0;
  for (int number = 0; number < map.groups(); ++number) {
    const int stage = map.stage_of(number);
    const int chunk = map.chunk_of(number);
    const int of_stage = layout.layers_per_stage[stage];
    const int layers = of_stage * (chunk + 1) / map.chunks - of_stage * chunk / map.chunks;
    placement.groups.push_back({.stage = stage,
                                .chunk = chunk,
                                .first_layer = first_layer,
                                .layers = layers,
                                .has_embedding = number == 0,
                                .has_head = number + 1 == map.groups(),
                                .recomputed_layers = 0});
    first_layer += layers;
  }
  for (int stage = 0; stage < map.stages; ++stage) placement.recompute(stage, layout.recomputed_on(stage));
  return placement;
}

}  // namespace caravan::planner
