// What to say when nothing fits: how much is missing, how many devices would do, and what else would.
#pragma once

#include <string>

#include "planner/search/search.h"

namespace caravan::planner {

// All need a request for which something is legal and nothing fits. How much is missing, alone:
std::string name_shortage(const PlanRequest& request, const EngineProfile& profile,
                          const SearchResult& result);
// And what would do:
std::string describe_shortage(const PlanRequest& request, const EngineProfile& profile,
                              const SearchResult& result);

}  // namespace caravan::planner
