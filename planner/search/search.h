// Picks a layout by the rule of two studies (Hagemann et al., arXiv 2311.05610; Dash et al., arXiv
// 2312.12705) and by predicted time.
//
// The rule: no activation checkpointing unless nothing fits without it; the smallest product of tensor and
// pipeline parallelism that fits, pipeline preferred at an equal product; micro-batch size 1; sequence
// parallelism with tensor parallelism. Predicted time, where the device's speed is known, overrules
// checkpointing, product and micro-batch size when it outweighs a handicap (preference.h).
#pragma once

#include <vector>

#include "planner/plan.h"
#include "planner/search/candidate.h"

namespace caravan::planner {

struct SearchResult {
  // In order of preference: the chosen one first if any, then what fits, what does not, what is illegal.
  std::vector<EvaluatedLayout> candidates;

  const EvaluatedLayout* chosen() const;
  bool anything_legal() const;
};

SearchResult search_layouts(const PlanRequest& request, const EngineProfile& profile,
                            const PlanOptions& options);

}  // namespace caravan::planner
