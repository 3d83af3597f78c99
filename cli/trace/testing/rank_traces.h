// Traces of ranks, event by event, for tests.
#pragma once

#include <cstdint>
#include <string>

#include "caravan/v1alpha1/trace.pb.h"

namespace caravan::cli::testing {

// Of a rank of step 7 of the job tiny, on the only stage; has two events that name both.
v1alpha1::RankTrace some_trace(int rank);

// From and to: microseconds.
void add(v1alpha1::RankTrace& trace, v1alpha1::TraceEvent::Category category, const std::string& name,
         double from, double to, const std::string& axis = "");

// Of the pipeline. bytes: 0 where the rank waits for the message's end.
void add_message(v1alpha1::RankTrace& trace, const std::string& name, double from, double to, int64_t bytes);

}  // namespace caravan::cli::testing
