#include "planner/search/fit_recomputation.h"

#include <algorithm>
#include <numeric>

#include "planner/memory/risk.h"

namespace caravan::planner {
namespace {

bool leaves_a_choice(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  return layout.activation_checkpointing && request.fixed.checkpointing == CheckpointingPolicy::WhenNeeded &&
         layout.virtual_stages == 1 && !profile.activations;
}

}  // namespace

std::vector<int> fewest_recomputed_layers(const PlanRequest& request, const Layout& layout,
                                          const EngineProfile& profile, const MemoryModel& memory) {
  const auto roomy = roomy_bytes(request.devices, profile);
  if (!roomy || !leaves_a_choice(request, layout, profile)) return {};
  Layout tried = layout;
  tried.recomputed_layers = layout.layers_per_stage;
  // A layer more never needs more memory.
  for (int stage = 0; stage < layout.mesh.pipeline; ++stage) {
    std::vector<int> numbers(layout.layers_per_stage[stage]);
    std::iota(numbers.begin(), numbers.end(), 0);
    const auto too_few = [&](int number) {
      tried.recomputed_layers[stage] = number;
      return memory.of_stage(tried, stage).total() > *roomy;
    };
    const auto fewest = std::ranges::partition_point(numbers, too_few) - numbers.begin();
    tried.recomputed_layers[stage] = static_cast<int>(fewest);
  }
  return tried.recomputed() == 0 ? std::vector<int>{} : tried.recomputed_layers;
}

}  // namespace caravan::planner
