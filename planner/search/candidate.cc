#include "planner/search/candidate.h"

#include <algorithm>

#include "planner/memory/risk.h"
#include "planner/search/fit_layers.h"
#include "planner/search/fit_recomputation.h"

namespace caravan::planner {
namespace {

bool fits_in(const PlanRequest& request, const EngineProfile& profile, const LayoutMemory& memory) {
  const auto usable = usable_bytes(request.devices, profile);
  return !usable || memory.peak_bytes() <= *usable;
}

// Whatever is changed of the layout later, its op lists stay.
Layout arranged(const PlanRequest& request, Layout layout, const EngineProfile& profile) {
  layout.group_times = arranged_group_times(request, layout, profile);
  return layout;
}

// In all, with any schedule. A V has both ends of the model on one stage, and so a tied table once, and once
// the largest bucket that ZeRO gathers whole.
int64_t least_standing_bytes(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  Layout folded = layout;
  folded.schedule = ScheduleKind::VMin;
  folded.virtual_stages = 2;
  return std::min(standing_bytes(request, layout, profile), standing_bytes(request, folded, profile));
}

}  // namespace

EvaluatedLayout evaluate_layout(const PlanRequest& request, const Layout& given,
                                const EngineProfile& profile) {
  EvaluatedLayout result;
  result.layout = given;
  result.illegality = find_illegality(request, given, profile);
  if (result.illegality) return result;
  const Layout layout = arranged(request, given, profile);
  result.layout = layout;
  const MemoryModel memory(request, layout, profile);
  result.memory = memory.of(layout);
  result.fits = fits_in(request, profile, result.memory);
  if (const auto layers = result.fits ? std::nullopt : layers_that_fit(request, layout, profile, memory)) {
    result.layout.layers_per_stage = *layers;
    result.fits = true;
  }
  if (result.fits) result.layout = with_cheapest_recomputation(request, result.layout, profile, memory);
  if (result.layout != layout) result.memory = memory.of(result.layout);
  result.time = predict_step_time(request, result.layout, profile);
  const double chance = chance_to_fit(result.memory.peak_bytes(), request, profile);
  if (request.devices.memory_bytes) result.fit_chance = chance;
  result.preference =
      preference_of(request, result.layout, {.time = result.time, .fit_chance = chance}, profile);
  return result;
}

bool may_fit(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  const auto usable = usable_bytes(request.devices, profile);
  return !usable || standing_bytes(request, layout, profile) <= *usable * layout.mesh.pipeline;
}

bool layout_fits(const PlanRequest& request, const Layout& given, const EngineProfile& profile) {
  if (find_illegality(request, given, profile) || !may_fit(request, given, profile)) return false;
  const Layout layout = arranged(request, given, profile);
  const MemoryModel memory(request, layout, profile);
  return fits_in(request, profile, memory.of(layout)) || layers_that_fit(request, layout, profile, memory);
}

int64_t least_with_another_schedule(const PlanRequest& request, const Layout& layout,
                                    const MemoryTerms& terms, const EngineProfile& profile) {
  // VMin holds a third of 1F1B's micro-batches; of many segments a stage holds little more than one
  // micro-batch, where 1F1B's first one has up to 64, and layers may move to stages that hold fewer.
  constexpr double kLeastHeld = 0.05;
  return least_standing_bytes(request, layout, profile) / layout.mesh.pipeline +
         static_cast<int64_t>(kLeastHeld * static_cast<double>(terms.activations));
}

}  // namespace caravan::planner
