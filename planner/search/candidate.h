// A layout with what is known about it, and the evaluation that makes one.
#pragma once

#include <optional>
#include <string>

#include "planner/engine_profile.h"
#include "planner/layout.h"
#include "planner/memory/memory_model.h"
#include "planner/request.h"
#include "planner/search/legality.h"
#include "planner/search/preference.h"
#include "planner/time/time_model.h"

namespace caravan::planner {

enum class Verdict { Chosen, Slower, DoesNotFit, Illegal };

struct EvaluatedLayout {
  Layout layout;
  std::optional<Illegality> illegality;  // then nothing below is known
  LayoutMemory memory;
  StepTime time;
  Preference preference;
  bool fits = false;
  std::optional<double> fit_chance;  // absent where nobody knows the device's memory
  Verdict verdict = Verdict::Slower;
  std::string reason;
};

// Legality, memory, time and preference; verdict and reason are the search's. The layout's layers are split
// anew where that makes it fit, and no more of them are made again than it takes to be sure.
EvaluatedLayout evaluate_layout(const PlanRequest& request, const Layout& layout,
                                const EngineProfile& profile);

// Whether a legal layout has room for what stands all the time, which is known at once.
bool may_fit(const PlanRequest& request, const Layout& layout, const EngineProfile& profile);

// Memory and legality alone.
bool layout_fits(const PlanRequest& request, const Layout& layout, const EngineProfile& profile);

// No more than a layout of 1F1B, which takes this, takes with any other schedule, however its layers are
// split.
int64_t least_with_another_schedule(const PlanRequest& request, const Layout& layout,
                                    const MemoryTerms& terms, const EngineProfile& profile);

}  // namespace caravan::planner
