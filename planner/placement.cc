#include "planner/placement.h"

namespace caravan::planner {

int Placement::layers_of(int stage) const {
  int layers = 0;
  for (int chunk = 0; chunk < map.chunks; ++chunk) layers += group(stage, chunk).layers;
  return layers;
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
                                .has_head = number + 1 == map.groups()});
    first_layer += layers;
  }
  return placement;
}

}  // namespace caravan::planner
