// Writes the gradients of a step as full tensors, for tests and for comparison with other programs:
// DIRECTORY/NAME.npy, NumPy's format, fp32 (fp64 in fp64 models), under the names of Hugging Face, whatever
// the layout; the second copy of a tied table as lm_head.weight.
//
// Every rank writes what it answers for at its place, so a file is whole when all ranks are done. Errors name
// the file that cannot be written.
#pragma once

#include <string>

#include "common/result.h"
#include "worker/trainer/model/parameters.h"
#include "worker/trainer/optim/ownership.h"

namespace caravan::trainer {

// The flat gradients must hold the whole sum in the rank's slices.
Status dump_gradients(const ParameterStore& store, const StagePlacement& placement, DataShard slice,
                      const std::string& directory);

}  // namespace caravan::trainer
