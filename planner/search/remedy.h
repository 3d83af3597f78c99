// What to say when nothing fits: how much is missing, how many devices would do, and what else would.
#pragma once

#include <optional>
#include <string>

#include "planner/search/search.h"

namespace caravan::planner {

// Any layout that the request leaves open, checkpointing policy included.
bool anything_fits(const PlanRequest& request, const EngineProfile& profile);

// Whole nodes above one node, and above a thousand nodes a power of two of them; nothing when no number fits.
std::optional<int> smallest_device_count(const PlanRequest& request, const EngineProfile& profile);

// Needs a request for which something is legal and nothing fits.
std::string describe_shortage(const PlanRequest& request, const EngineProfile& profile,
                              const SearchResult& result);

}  // namespace caravan::planner
