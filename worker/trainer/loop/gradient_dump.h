// Writes the gradients of a step as full tensors, for tests and for comparison with other programs:
// DIRECTORY/NAME.npy, NumPy's format, fp32 (fp64 in fp64 models), under the names of Hugging Face, whatever
// the layout; the second copy of a tied table as lm_head.weight.
//
// Shards are gathered over the tensor group; one rank of each group writes. Errors are bad input and name the
// file that cannot be written.
#pragma once

#include <string>

#include "common/result.h"
#include "worker/trainer/comm/mesh.h"
#include "worker/trainer/model/parameters.h"

namespace caravan::trainer {

// The flat gradients must hold the whole sum on every rank.
Status dump_gradients(const ParameterStore& store, const StagePlacement& placement, Mesh& mesh,
                      const std::string& directory);

}  // namespace caravan::trainer
