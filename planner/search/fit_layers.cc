#include "planner/search/fit_layers.h"

#include <algorithm>

namespace caravan::planner {
namespace {

bool split_is_free(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  return layout.mesh.pipeline > 1 && layout.virtual_stages == 1 && request.fixed.layers_per_stage.empty() &&
         profile.stage_split == StageSplit::Balanced;
}

// Empty where there is no room for all of it: then no order helps.
std::vector<int64_t> peaks_of_stages(const Layout& layout, const MemoryModel& memory, int64_t room) {
  const Placement placement = place_layers(layout);
  std::vector<int64_t> peaks;
  peaks.reserve(layout.layers_per_stage.size());
  for (int stage = 0; stage < layout.mesh.pipeline; ++stage) {
    peaks.push_back(memory.of_stage(layout, placement, stage).total());
    room -= peaks.back();
    if (room < 0) return {};
  }
  return peaks;
}

}  // namespace

std::optional<std::vector<int>> layers_that_fit(const PlanRequest& request, const Layout& layout,
                                                const EngineProfile& profile, const MemoryModel& memory) {
  const auto usable = usable_bytes(request.devices, profile);
  if (!usable || !split_is_free(request, layout, profile)) return std::nullopt;
  std::vector<int64_t> peaks = peaks_of_stages(layout, memory, *usable * layout.mesh.pipeline);
  if (peaks.empty()) return std::nullopt;
  Layout moved = layout;
  const auto peak_of = [&](std::ptrdiff_t stage) {
    return memory.of_stage(moved, place_layers(moved), static_cast<int>(stage)).total();
  };
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
