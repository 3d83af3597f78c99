// The folder that a user names: one checkpoint, or the folder of a job with several.
//
// Errors are bad input: whoever has just typed the path knows better where it leads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/folder/volume.h"
#include "common/result.h"

namespace caravan::cli {

struct CheckpointFolder {
  std::unique_ptr<checkpoint::Volume> volume;
  std::vector<int> steps;  // newest first
};

// DIR/step-000500 names that one alone, which is there. Without any step: a folder in which nothing was
// committed yet.
Result<CheckpointFolder> open_folder(const std::string& path);

// The same with one step at least.
Result<CheckpointFolder> open_checkpoint_folder(const std::string& path);

// Whether the job has removed one of the steps since the folder was opened: what is missing then is no
// damage.
bool was_removed(const CheckpointFolder& folder, int step);

// Where the weights lie: a folder of Hugging Face itself, one checkpoint, or the newest of a job.
Result<std::string> model_folder(const std::string& path);

}  // namespace caravan::cli
