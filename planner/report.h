// The planner's values as messages of the schema.
#pragma once

#include "caravan/v1alpha1/plan.pb.h"
#include "planner/search/candidate.h"

namespace caravan::planner {

v1alpha1::Candidate candidate_message(const EvaluatedLayout& evaluated);

// The layout of such a message. A schedule that nobody knows reads as 1F1B.
Layout layout_value(const v1alpha1::Candidate& message);
Layout layout_value(const v1alpha1::Plan& message);
void write_layout(const Layout& layout, v1alpha1::Plan& message);

v1alpha1::Plan plan_message(const PlanRequest& request, const EvaluatedLayout& chosen,
                            const EngineProfile& profile);

}  // namespace caravan::planner
