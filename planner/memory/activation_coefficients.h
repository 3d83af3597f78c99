// What a pipeline stage of an engine known by its coefficients allocates for one micro-batch, in the terms of
// the table of work of our own trainer.
//
// Two moments count: the end of a forward, when everything kept stands beside the logits, and with
// checkpointing a backward, when one layer lives again. Sources: Korthikanti et al., arXiv 2205.05198, table
// 2, for the terms; fits to published runs for the coefficients (docs/planner-validation.md). Pure.
#pragma once

#include "planner/engine_profile.h"
#include "planner/work/stage_footprint.h"

namespace caravan::planner {

StageFootprint stage_footprint(const StageShape& stage, const ActivationCoefficients& coefficients);

// What the kernels of one layer, and the head, write in a forward, bytes.
double layer_bytes(const StageShape& stage, const ActivationCoefficients& coefficients);
double logits_bytes(const StageShape& stage, const ActivationCoefficients& coefficients);

}  // namespace caravan::planner
