#include "planner/search/candidate.h"

namespace caravan::planner {
namespace {

bool fits_in(const PlanRequest& request, const EngineProfile& profile, const LayoutMemory& memory) {
  const auto usable = usable_bytes(request.devices, profile);
  return !usable || memory.peak_bytes() <= *usable;
}

}  // namespace

EvaluatedLayout evaluate_layout(const PlanRequest& request, const Layout& layout,
                                const EngineProfile& profile) {
  EvaluatedLayout result;
  result.layout = layout;
  result.illegality = find_illegality(request, layout, profile);
  if (result.illegality) return result;
  result.memory = predict_memory(request, layout, profile);
  result.time = predict_step_time(request, layout, profile);
  result.preference = preference_of(request, layout, result.time, profile);
  result.fits = fits_in(request, profile, result.memory);
  return result;
}

bool layout_fits(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  return !find_illegality(request, layout, profile) &&
         fits_in(request, profile, predict_memory(request, layout, profile));
}

}  // namespace caravan::planner
