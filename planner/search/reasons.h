// The sentences that say why a layout was chosen or not.
#pragma once

#include <string>
#include <vector>

#include "planner/search/candidate.h"

namespace caravan::planner {

// "TP2 PP4 DP8", and what is unusual about it.
std::string layout_label(const Layout& layout);

// " VHalf", " v4" (chunks of an interleaved one); nothing for 1F1B and GPipe.
std::string schedule_label(const Layout& layout);

// " with 1F1B", where the search may take another schedule for the layout.
std::string with_1f1b(const PlanRequest& request, const Layout& layout);

// "stage 0 needs 83.1 GiB of 72.0 GiB usable: activations 41.0 GiB"
std::string shortage_reason(const PlanRequest& request, const EngineProfile& profile,
                            const EvaluatedLayout& candidate);

std::string slower_reason(const PlanRequest& request, const EngineProfile& profile,
                          const EvaluatedLayout& candidate, const EvaluatedLayout& chosen);

// A choice, and what it is explained beside.
struct Pick {
  const EvaluatedLayout& chosen;
  // With 1F1B, or the schedule that the user asks for, in the order in which the rule tries them; the chosen
  // one whatever its schedule.
  std::vector<const EvaluatedLayout*> beside;
  const EvaluatedLayout* by_rule = nullptr;  // of these what the rule would take; null where none fits
  // The best of an earlier tier, where something of it surely fits.
  const EvaluatedLayout* unsparing = nullptr;
};

// Two sentences for people.
std::string chosen_reason(const PlanRequest& request, const EngineProfile& profile, const Pick& pick);

}  // namespace caravan::planner
