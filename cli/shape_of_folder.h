// The shape of a model whose weights come from a folder of this machine: spec.model.initFrom.
#pragma once

#include "caravan/v1alpha1/job.pb.h"
#include "common/result.h"

namespace caravan::cli {

// Where initFrom stands alone, adds the architecture that config.json of its folder tells, so that whoever
// reads the job later needs no file; where a shape is given too, it must be the same. The architecture keeps
// the bounds of the schema, and the files have its tensors. A job that has checkpoints goes on from these:
// the shape is theirs, and the folder need not be there any more.
//
// Does nothing without initFrom, and where its path is one of a claim. Errors (exit code 2) name field, file
// and what differs.
Status take_shape_of_folder(v1alpha1::JobSpec& spec);

}  // namespace caravan::cli
