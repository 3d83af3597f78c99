// Makes a folder of files a checkpoint, or nothing of it.
//
// Order: all ranks' files are durable; their acknowledgements are joined and checked (every rank of this
// attempt, every element once, every file as long as planned); manifest.json last; folder synced, renamed,
// folder above synced. Whoever reads sees the whole checkpoint or none, whatever stops the writer, and
// nothing is ever overwritten. Errors name the file; the checkpoints before stay as they are.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/folder/copied_file.h"
#include "checkpoint/folder/rank_writer.h"
#include "checkpoint/folder/volume.h"
#include "checkpoint/format/training_state.h"
#include "planner/layout.h"
#include "planner/model/shape.h"

namespace caravan::checkpoint {

struct SaveRequest {
  Owner owner;
  planner::ModelShape model;
  planner::Layout layout;
  TrainingTerms terms;
  TrainingState state;
  std::vector<CopiedFile> tokenizer = {};
  std::string answered_request = {};  // by this one or one before it

  SaveId id() const { return {.step = state.step, .attempt = owner.attempt, .run = owner.run}; }
};

// The folder that ranks write into, with all files in their length: machines that share a volume may
// otherwise each take a file to end with what they have written of it. A checkpoint of this step that is
// there already is an error.
Status begin_save(Volume& volume, const FilePlan& plan, const SaveId& id);

// Only while the owner has the folder (owner.h).
Status commit(Volume& volume, const FilePlan& plan, const SaveRequest& request,
              int64_t block_bytes = kBlockBytes);

// Removes what was written of a save that came to nothing.
Status abandon_save(Volume& volume, const SaveId& id);

}  // namespace caravan::checkpoint
