#include "planner/search/fit_layers.h"

#include <algorithm>
#include <numeric>

namespace caravan::planner {
namespace {

bool leaves_a_choice(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  return layout.mesh.pipeline > 1 && layout.virtual_stages == 1 && request.fixed.layers_per_stage.empty() &&
         profile.stage_split == StageSplit::Balanced;
}

}  // namespace

std::optional<std::vector<int>> layers_that_fit(const PlanRequest& request, const Layout& layout,
                                                const EngineProfile& profile, const MemoryModel& memory) {
  const auto usable = usable_bytes(request.devices, profile);
  if (!usable || !leaves_a_choice(request, layout, profile)) return std::nullopt;
  Layout moved = layout;
  const auto peak_of = [&](std::ptrdiff_t stage) {
    return memory.of_stage(moved, static_cast<int>(stage)).total();
  };
  std::vector<int64_t> peaks;
  peaks.reserve(layout.layers_per_stage.size());
  for (int stage = 0; stage < layout.mesh.pipeline; ++stage) peaks.push_back(peak_of(stage));
  // Without room for all of it no order helps.
  if (std::accumulate(peaks.begin(), peaks.end(), int64_t{0}) > *usable * layout.mesh.pipeline)
    return std::nullopt;
  for (;;) {
    const auto fullest = std::ranges::max_element(peaks) - peaks.begin();
    const auto emptiest = std::ranges::min_element(peaks) - peaks.begin();
    if (peaks[fullest] <= *usable) return moved.layers_per_stage;
    if (moved.layers_per_stage[fullest] == 1) return std::nullopt;
    --moved.layers_per_stage[fullest];
    ++moved.layers_per_stage[emptiest];
    peaks[fullest] = peak_of(fullest);
    peaks[emptiest] = peak_of(emptiest);
    if (peaks[emptiest] > *usable) return std::nullopt;
  }
}

}  // namespace caravan::planner
