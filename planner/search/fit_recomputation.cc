#include "planner/search/fit_recomputation.h"

#include <algorithm>
#include <compare>
#include <numeric>
#include <optional>
#include <vector>

#include "planner/memory/risk.h"
#include "planner/time/time_model.h"

namespace caravan::planner {
namespace {

bool recomputation_is_free(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  return layout.activation_checkpointing && request.fixed.checkpointing == CheckpointingPolicy::WhenNeeded &&
         !profile.activations;
}

// Absent: they do not fit even if that part of every layer runs again.
std::optional<Layout> with_fewest_layers(Layout layout, RecomputedPart part, int64_t roomy,
                                         const MemoryModel& memory) {
  layout.recomputed_part = part;
  layout.recomputed_layers = layout.layers_per_stage;
  Placement placement = place_layers(layout);
  // A layer more never needs more memory.
  for (int stage = 0; stage < layout.mesh.pipeline; ++stage) {
    const int all = layout.layers_per_stage[stage];
    std::vector<int> numbers(static_cast<std::size_t>(all) + 1);
    std::iota(numbers.begin(), numbers.end(), 0);
    const auto too_few = [&](int number) {
      placement.recompute(stage, number);
      return memory.of_stage(layout, placement, stage).total() > roomy;
    };
    const auto fewest = std::ranges::partition_point(numbers, too_few) - numbers.begin();
    if (fewest > all && part != RecomputedPart::Layer) return std::nullopt;
    layout.recomputed_layers[stage] = std::min(static_cast<int>(fewest), all);
  }
  return layout;
}

struct Cost {
  double slowest_stage = 0;
  double all_stages = 0;
  auto operator<=>(const Cost&) const = default;
};

Cost cost_of(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  Cost cost;
  const OpTimes times = predict_pipeline_times(request, layout, profile).ops;
  const ChunkMap map = layout.schedule_of(/*micro_batches=*/1).map();
  for (int stage = 0; stage < map.stages; ++stage) {
    const double seconds = times.of_stage(map, stage).total();
    cost.slowest_stage = std::max(cost.slowest_stage, seconds);
    cost.all_stages += seconds;
  }
  return cost;
}

}  // namespace

Layout with_cheapest_recomputation(const PlanRequest& request, const Layout& layout,
                                   const EngineProfile& profile, const MemoryModel& memory) {
  const auto roomy = roomy_bytes(request, profile);
  if (!roomy || !recomputation_is_free(request, layout, profile)) return layout;
  const Layout layers = *with_fewest_layers(layout, RecomputedPart::Layer, *roomy, memory);
  if (layers.recomputed() == 0) return layout;
  const auto mlps = with_fewest_layers(layout, RecomputedPart::Mlp, *roomy, memory);
  const bool cheaper = mlps && cost_of(request, *mlps, profile) < cost_of(request, layers, profile);
  return cheaper ? *mlps : layers;
}

}  // namespace caravan::planner
