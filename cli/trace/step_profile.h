// Where the time of a traced step went, from the traces of all ranks (proto/caravan/v1alpha1/trace.proto).
// Pure.
//
// What lies within something else is taken off it, so the parts add up to the step. A kernel of a phase other
// than the ops, such as the optimizer's, counts as that phase; waiting for the end of a message counts as
// waiting. Errors are bad input: a trace without a step, or with events that cut across each other.
#pragma once

#include <string>
#include <vector>

#include "caravan/v1alpha1/trace.pb.h"
#include "common/result.h"

namespace caravan::cli {

// traces: of each rank. Leaves `trace` empty. Parts: products, attention and other kernels, communication by
// axis and operation, waiting, phases, and the rest last; of each sort what took longest first.
Result<v1alpha1::StepProfile> profile_of(const std::vector<v1alpha1::RankTrace>& traces);

// A table of the parts with their shares, within 100 columns.
std::string profile_text(const v1alpha1::StepProfile& profile);

}  // namespace caravan::cli
