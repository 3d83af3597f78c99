// The terms of memory as a message of the schema.
#pragma once

#include "caravan/v1alpha1/plan.pb.h"
#include "planner/memory/memory_terms.h"

namespace caravan::planner {

v1alpha1::MemoryTerms terms_message(const MemoryTerms& terms);
MemoryTerms terms_value(const v1alpha1::MemoryTerms& message);

}  // namespace caravan::planner
