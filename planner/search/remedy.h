// What to say when nothing fits: how much is missing, how many devices would do, and what else would.
#pragma once

#include <string>

#include "planner/search/search.h"

namespace caravan::planner {

// Needs a request for which something is legal and nothing fits.
std::string describe_shortage(const PlanRequest& request, const EngineProfile& profile,
                              const SearchResult& result);

}  // namespace caravan::planner
